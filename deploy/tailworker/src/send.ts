// Sending: one batch at a time in an isolate, tried again until it is too old,
// and a count of what was dropped.
//
// Invocations share plain data only: the runtime does not let one wait for
// another's I/O. So whoever finds nobody sending sends what all of them have
// put here, until nothing is left or its time is over. In a storm that makes
// a few posts of many records, and the first record still goes at once.

import type { Env } from "./index";
import { post } from "./http";

/** "again": the same batch may be taken later. */
export type Outcome = "sent" | "refused" | "again";

/** Half of NATS's usual limit of 1 MB a message. */
const maxBatch = 512 * 1024;
/** What may wait here: an isolate has 128 MB, and it is not ours alone. */
const maxWaiting = 8 * 1024 * 1024;
/** Waits before the tries of a batch in one turn; the last one repeats. */
const waits = [0, 300, 1500, 4000];
/** How long one invocation sends: the runtime ends what lasts 30 s. */
const turn = 20_000;
/**
 * An older batch is of no use: its incident is over or known by others. (The
 * stream knows a key for 30 s; after that a batch whose answer got lost could
 * be counted twice, which is better than not at all.)
 */
const maxAge = 120_000;

interface Batch {
  /** The same on every try: a batch whose answer got lost is stored once. */
  key: string;
  body: string;
  count: number;
  made: number;
}

let waiting: string[] = [];
let waitingSize = 0;
/** A batch that nobody has taken yet; the next turn goes on with it. */
let unsent: Batch | undefined;
/** The turn of whoever sends; 0: nobody. */
let sendingSince = 0;
/** Events dropped by this isolate since a batch said so. */
let dropped = 0;

/** Records of trouble have twice the room of load lines, which others will follow. */
export function enqueue(line: string, kind: "trouble" | "load"): void {
  if (waitingSize + line.length > (kind === "load" ? maxWaiting / 2 : maxWaiting)) {
    drop(1, "too many wait");
    return;
  }
  waiting.push(line);
  waitingSize += line.length + 1;
}

function drop(count: number, why: string): void {
  dropped += count;
  console.warn(`snapflame: ${count} events dropped (${why}), ${dropped} since a batch arrived`);
}

function next(): Batch | undefined {
  if (unsent && Date.now() - unsent.made > maxAge) {
    drop(unsent.count, "no answer in time");
    unsent = undefined;
  }
  if (unsent || waiting.length === 0) return unsent;
  let size = 0;
  let count = 0;
  for (const line of waiting) {
    if (count > 0 && size + line.length > maxBatch) break;
    size += line.length + 1;
    count++;
  }
  waitingSize -= size;
  unsent = { key: crypto.randomUUID(), body: waiting.splice(0, count).join("\n"), count, made: Date.now() };
  return unsent;
}

export async function drain(env: Env): Promise<void> {
  const started = Date.now();
  // Whoever sent may have been ended by the runtime: then its turn is long over.
  if (sendingSince > 0 && started - sendingSince < 2 * turn) return;
  sendingSince = started;
  try {
    for (let batch = next(); batch && sendingSince === started; batch = next()) {
      const outcome = await deliver(batch, env, started + turn);
      if (outcome === "again") return; // the next invocation's turn
      if (outcome === "refused") drop(batch.count, "refused");
      if (unsent === batch) unsent = undefined;
    }
  } finally {
    if (sendingSince === started) sendingSince = 0;
  }
}

/** Loaded when it is wanted: most post, and NATS draws random numbers on loading. */
async function publish(batch: Batch, env: Env): Promise<Outcome> {
  const nats = await import("./nats");
  return nats.publish(batch.body, batch.key, env);
}

async function deliver(batch: Batch, env: Env, until: number): Promise<Outcome> {
  for (let n = 0; ; n++) {
    // Isolates that met the same failure do not come back together.
    const wait = (waits[n] ?? 4000) * (0.75 + Math.random() / 2);
    if (Date.now() + wait > until) return "again";
    if (wait > 0) await new Promise((done) => setTimeout(done, wait));
    const told = dropped;
    const outcome = env.NATS_WS_URL ? await publish(batch, env) : await post(batch.body, batch.key, told, env);
    if (outcome === "sent" && !env.NATS_WS_URL) dropped -= told; // NATS has nobody to tell
    if (outcome !== "again") return outcome;
  }
}
