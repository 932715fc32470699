// The Tail Worker: it is called with the trace of every invocation of the
// Workers that name it, so it does little for the healthy ones. What may be an
// overload or an exceeded limit is sent at once; of a healthy Durable Object
// only its load is sent, summed up per object for a moment; the rest is
// dropped here.
//
// It never fails: a Tail Worker that throws helps nobody. What cannot be sent
// within its time is counted, and the count goes with the next batch.

import { gather } from "./load";
import { interesting, record } from "./record";
import { drain, enqueue } from "./send";

export interface Env {
  /** Base URL of snapflame; /ingest/events is posted to. */
  SNAPFLAME_URL?: string;
  /** Value of ingest.token. */
  SNAPFLAME_TOKEN?: string;
  /** A service binding to use in place of the public address. */
  SNAPFLAME?: Fetcher;
  /** "true" keeps query strings of URLs; they often hold secrets. */
  KEEP_QUERY?: string;
  /** How long load is summed up, in milliseconds; default 2000, "0" sends none. */
  LOAD_MS?: string;
  /** Script name to use where the runtime gives none (workerd does not). */
  SCRIPT_NAME?: string;
  /** wss:// address of NATS: publish straight to the stream instead. */
  NATS_WS_URL?: string;
  NATS_TOKEN?: string;
  /** The text of a .creds file. */
  NATS_CREDS?: string;
  /** Where to publish; default "workers.events". */
  NATS_SUBJECT?: string;
}

export default {
  async tail(items: TraceItem[], env: Env): Promise<void> {
    try {
      const healthy: TraceItem[] = [];
      for (const item of items) {
        if (interesting(item)) enqueue(JSON.stringify(record(item, env)), "trouble");
        else healthy.push(item);
      }
      await Promise.all([drain(env), gather(healthy, env)]);
    } catch (error) {
      console.warn("snapflame: a trace was not sent:", String(error));
    }
  },
} satisfies ExportedHandler<Env>;
