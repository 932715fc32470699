// The Tail Worker in the real workerd, with a collector in place of snapflame.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { startCollector, startWorkerd, until } from "./world.mjs";

let c, w, id;

before(async () => {
  c = await startCollector();
  w = await startWorkerd({ SNAPFLAME_URL: `${c.url}/`, SNAPFLAME_TOKEN: "s3cret" });
  id = (await w.get("/id?id=tenant-1")).text;
  assert.match(id, /^[0-9a-f]{64}$/);
});
beforeEach(async () => {
  await settled();
  c.clear();
});
after(async () => {
  await w?.stop();
  c?.stop();
});

/** settled waits until the sums of earlier tests have gone out. */
async function settled() {
  for (let n = -1; n !== c.posts.length;) {
    n = c.posts.length;
    await pause(700); // longer than LOAD_MS of the config: a sum that runs is sent
  }
}

test("a caught overload arrives with the object's id, from the caller", async () => {
  assert.equal((await w.get("/overload?id=tenant-1&token=abc")).status, 503);
  await until("the record is there", () => c.records().length === 1);
  const [post] = c.posts;
  assert.equal(post.url, "/ingest/events");
  assert.equal(post.method, "POST");
  assert.equal(post.headers.authorization, "Bearer s3cret");
  assert.equal(post.headers["content-type"], "application/x-ndjson");
  assert.match(post.headers["idempotency-key"], /^[0-9a-f-]{36}$/);
  assert.equal(post.headers["x-snapflame-dropped"], undefined);
  const [edge] = c.records();
  assert.equal(edge.scriptName, "edge");
  assert.equal(edge.executionModel, "stateless");
  assert.equal(edge.outcome, "ok");
  assert.equal(edge.durableObjectId, undefined);
  assert.match(edge.event.request.url, /\/overload$/);
  assert.equal(edge.event.response.status, 503);
  assert.equal(edge.logs[0].message[0].durableObjectId, id);
  assert.equal(edge.logs[0].message[0].msg, "Durable Object is overloaded. Requests queued for too long.");
});

test("an uncaught one arrives from the object and from its caller", async () => {
  assert.equal((await w.get("/uncaught?id=tenant-1")).status >= 500, true);
  await until("both records are there", () => c.records().length === 2);
  const edge = c.records().find((r) => r.scriptName === "edge");
  assert.notEqual(edge.outcome, "ok");
  assert.match(edge.exceptions[0].message, /is overloaded/);
  const meter = c.records().find((r) => r.scriptName === "meter");
  assert.equal(meter.executionModel, "durableObject");
  assert.equal(meter.entrypoint, "Meter");
  assert.equal(meter.durableObjectId, id);
  assert.match(meter.exceptions[0].message, /is overloaded/);
  assert.match(meter.exceptions[0].stack, /overloaded/);
});

test("healthy and unrelated invocations of a stateless Worker send nothing", async () => {
  await w.get("/plain");
  await w.get("/look-alike");
  await w.get("/overload"); // sent last: what came before would be there by then
  await until("the last is there", () => c.records().some((r) => r.scriptName === "edge"));
  assert.deepEqual([...new Set(c.records().map((r) => new URL(r.event.request.url).pathname))], ["/overload"]);
  assert.equal(c.loads().length, 0);
});

test("healthy objects send their load, summed up", async () => {
  const other = (await w.get("/id?id=tenant-2")).text;
  const from = Date.now();
  await Promise.all(Array.from({ length: 60 }, (_, i) => w.get(`/work?id=tenant-${i < 40 ? 1 : 2}`)));
  const count = (which) => c.loads().filter((l) => l.durableObjectId === which).reduce((n, l) => n + l.count, 0);
  await until("all are counted", () => count(id) === 40 && count(other) === 20);
  for (const l of c.loads()) {
    assert.equal(l.scriptName, "meter");
    assert.equal(l.entrypoint, "Meter");
    assert.equal(l.errors, 0);
    assert.ok(l.from >= from - 1000 && l.to >= l.from && l.to <= Date.now() + 1000, JSON.stringify(l));
  }
  assert.equal(c.records().length, 0);
  assert.ok(c.posts.length <= 6, `${c.posts.length} posts for 60 invocations`);
});

test("secrets of URLs stay, in requests, texts and arguments", async () => {
  await w.get("/secrets?id=tenant-1&apikey=secret5");
  await until("it is there", () => c.records().length === 1);
  const text = c.posts.map((p) => p.body).join();
  assert.doesNotMatch(text, /secret\d|hunter2/);
  assert.match(text, /example\.com\/a\?…/);
});

test("of large logs the line that matters arrives", async () => {
  await w.get("/buried?id=tenant-1");
  await until("it is there", () => c.records().length === 1);
  const [first] = c.records()[0].logs;
  assert.match(first.message[0], /Durable Object is overloaded\. Too many requests queued\./);
  assert.ok(first.message[0].includes(id));
  assert.ok(c.posts[0].body.length < 10_000, `${c.posts[0].body.length} bytes`);
});

test("a batch is tried again, with the same key, after 503, 429 and a lost answer", async () => {
  const answers = [503, 429, 0, 202];
  c.answer = (_, n) => answers[n] ?? 202;
  await w.get("/secrets"); // one record
  await until("it was taken", () => c.records().length === 1);
  assert.deepEqual(c.posts.map((p) => p.status), answers);
  assert.equal(new Set(c.posts.map((p) => p.headers["idempotency-key"])).size, 1);
  assert.equal(new Set(c.posts.map((p) => p.body)).size, 1);
});

test("what is refused is dropped at once, and the next batch says how much", async () => {
  c.answer = () => 401;
  await w.get("/secrets");
  await until("it was refused", () => c.posts.length === 1);
  await until("the Tail Worker knows", () => w.log.includes("events dropped (refused)"));
  c.clear();
  await w.get("/secrets");
  await until("the next is taken", () => c.records().length === 1);
  assert.equal(c.posts[0].headers["x-snapflame-dropped"], "1");
  c.clear();
  await w.get("/secrets");
  await until("and the one after", () => c.records().length === 1);
  assert.equal(c.posts[0].headers["x-snapflame-dropped"], undefined, "told twice");
});

test("thousands of requests, with an outage in between: nothing lost, few posts", async () => {
  const total = 3000;
  let down = false;
  c.answer = () => (down ? 503 : 202);
  let asked = 0;
  const failures = [];
  await Promise.all(Array.from({ length: 24 }, async () => {
    while (asked < total) {
      const n = asked++;
      if (n === 1000) down = true;
      if (n === 1300) down = false;
      const { status } = await w.get(n % 3 === 0 ? "/overload?id=hot" : `/work?id=tenant-${n % 50}`);
      if (status !== (n % 3 === 0 ? 503 : 200)) failures.push(status);
    }
  }));
  assert.deepEqual(failures, [], "the app never notices its tail");
  const overloads = Math.ceil(total / 3);
  const told = () => c.posts.filter((p) => p.status === 202).reduce((n, p) => n + Number(p.headers["x-snapflame-dropped"] ?? 0), 0);
  const seen = () => ({
    edge: c.records().filter((r) => r.scriptName === "edge").length,
    load: c.loads().reduce((n, l) => n + l.count, 0),
  });
  await until("all are there", () => { const s = seen(); return s.edge + s.load + told() >= total; });
  assert.deepEqual({ ...seen(), dropped: told() }, { edge: overloads, load: total - overloads, dropped: 0 });
  const taken = c.posts.filter((p) => p.status === 202);
  assert.ok(taken.length < total / 3, `${taken.length} posts`);
  for (const p of taken) assert.ok(p.body.length <= 512 * 1024, `${p.body.length} bytes`);
  // The app's own errors are there; the Tail Worker has none.
  const ends = w.log.split("\n").filter((l) => /uncaught/i.test(l) && !/is overloaded|code was updated/.test(l));
  assert.deepEqual(ends, []);
});
