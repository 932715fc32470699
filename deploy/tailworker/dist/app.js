// test/app.ts
import { DurableObject } from "cloudflare:workers";

// src/overload.ts
async function namingObject(stub, call) {
  try {
    return await call();
  } catch (error) {
    const e = error;
    if (e?.overloaded || e?.durableObjectReset) {
      console.error({ msg: e.message, overloaded: e.overloaded, durableObjectReset: e.durableObjectReset, durableObjectId: stub.id.toString() });
    }
    throw error;
  }
}

// test/app.ts
var tables = ["accounts", "plans", "usage", "invoices", "credits", "limits", "alerts", "api_keys", "sessions", "exports"];
var script = tables.map((t) => `CREATE TABLE IF NOT EXISTS ${t} (id TEXT PRIMARY KEY, kind TEXT, amount INTEGER, at INTEGER);`).join("\n");
function ensureSchema(sql) {
  let statements = 0;
  let statement = "";
  let sum = 0;
  for (const c of script) {
    for (let round = 0; round < 400; round++) sum = Math.imul(sum ^ round, 2654435761) >>> 1;
    statement += c;
    if (c !== ";") continue;
    sql.exec(statement);
    statement = "";
    statements++;
  }
  return statements + (sum & 1);
}
function overloaded() {
  throw Object.assign(new Error("Durable Object is overloaded. Requests queued for too long."), { overloaded: true });
}
var Meter = class extends DurableObject {
  #count = 0;
  async fetch(request) {
    switch (new URL(request.url).pathname) {
      case "/schema":
        return Response.json({ statements: ensureSchema(this.ctx.storage.sql) });
      case "/fail":
        return overloaded();
      // as an object that calls an overloaded one
      default:
        return Response.json({ count: ++this.#count });
    }
  }
};
var app_default = {
  async fetch(request, env) {
    const url = new URL(request.url);
    const id = env.METER.idFromName(url.searchParams.get("id") ?? "tenant-1");
    const stub = env.METER.get(id);
    switch (url.pathname) {
      case "/id":
        return new Response(id.toString());
      case "/plain":
        return new Response("ok");
      case "/look-alike":
        console.error("D1_ERROR: no such table: usage");
        throw new Error("Durable Object reset because its code was updated.");
      case "/overload":
        try {
          return await namingObject(stub, async () => overloaded());
        } catch {
          return new Response("try again later", { status: 503 });
        }
      case "/uncaught":
        return stub.fetch("http://meter/fail");
      case "/buried":
        for (let i = 0; i < 30; i++) console.warn("retrying", i);
        console.error(`${"x".repeat(2e4)} Durable Object is overloaded. Too many requests queued. ${"y".repeat(2e4)} ${id}`);
        return new Response("ok");
      case "/secrets":
        console.error(
          "GET https://bob:hunter2@example.com/a?token=secret1#secret2 failed:",
          { url: "https://example.com/b?key=secret3", path: "/c?code=secret4" },
          "Durable Object is overloaded. Too much data queued."
        );
        return new Response("ok");
      default:
        return stub.fetch(`http://meter${url.pathname}`);
    }
  }
};
export {
  Meter,
  app_default as default
};
