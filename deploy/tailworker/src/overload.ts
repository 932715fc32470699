// For your own Worker, not for the Tail Worker: copy it. An overload is thrown
// where the object was called, and the record does not say which object that
// was. This logs the id beside Cloudflare's text, which is the best evidence
// there is; the error goes on as it was.

export async function namingObject<T>(stub: DurableObjectStub, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const e = error as { message?: string; overloaded?: boolean; durableObjectReset?: boolean };
    if (e?.overloaded || e?.durableObjectReset) {
      console.error({ msg: e.message, overloaded: e.overloaded, durableObjectReset: e.durableObjectReset, durableObjectId: stub.id.toString() });
    }
    throw error;
  }
}

// const answer = await namingObject(stub, () => stub.fetch(request));
