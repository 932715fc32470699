// Load lines: what healthy invocations of Durable Objects cost, one line per
// object. They are what lets snapflame name the object that a caller found
// overloaded, so every object sends them, not only the slow ones.
//
// A post per healthy invocation would double everybody's traffic. So load is
// summed up in the isolate, and the invocation that begins a sum stays for its
// moment and sends it; waiting costs no CPU time. A sum that dies with its
// isolate is a moment's load: the index forgets by itself.

import type { Env } from "./index";
import { objectOf } from "./record";
import { drain, enqueue } from "./send";

interface Load {
  scriptName: string | null;
  scriptVersion: string | undefined;
  entrypoint: string | undefined;
  durableObjectId: string;
  cpuMs: number;
  wallMs: number;
  count: number;
  errors: number;
  from: number;
  to: number;
}

const defaultMs = 2000;
/** A sum over more objects than this is sent before its time. */
const maxObjects = 2000;

let loads = new Map<string, Load>();
/** When the sum that runs was begun; 0: none runs. */
let begun = 0;

export async function gather(items: TraceItem[], env: Env): Promise<void> {
  const ms = Number(env.LOAD_MS ?? defaultMs);
  if (!(ms > 0)) return;
  for (const item of items) add(item, env);
  if (loads.size === 0) return;
  const now = Date.now();
  // Whoever began the sum may have been ended by the runtime: then it is late.
  const runs = begun > 0 && now - begun < 3 * ms;
  if (runs && loads.size < maxObjects) return;
  if (loads.size < maxObjects) {
    begun = now;
    await new Promise((done) => setTimeout(done, ms));
    if (begun !== now) return; // somebody else has sent it meanwhile
  }
  begun = 0;
  const sum = loads;
  loads = new Map();
  for (const load of sum.values()) enqueue(JSON.stringify({ snapflame: "load", ...load }), "load");
  await drain(env);
}

function add(item: TraceItem, env: Env): void {
  const id = objectOf(item);
  if (!id) return;
  const script = item.scriptName ?? env.SCRIPT_NAME ?? null;
  const at = item.eventTimestamp ?? Date.now();
  const version = item.scriptVersion?.id;
  const key = `${id} ${version ?? ""} ${script ?? ""}`;
  let load = loads.get(key);
  if (!load) {
    load = {
      scriptName: script, scriptVersion: version, entrypoint: item.entrypoint,
      durableObjectId: id, cpuMs: 0, wallMs: 0, count: 0, errors: 0, from: at, to: at,
    };
    loads.set(key, load);
  }
  load.cpuMs += item.cpuTime;
  load.wallMs += item.wallTime;
  load.count += 1;
  if (item.outcome !== "ok" && item.outcome !== "canceled") load.errors += 1;
  load.from = Math.min(load.from, at);
  load.to = Math.max(load.to, at);
}
