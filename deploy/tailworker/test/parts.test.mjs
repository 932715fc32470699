// The pure parts: which records are worth sending, and what of them is sent.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { excerpt, interesting, namingObject, record, redact } from "../dist/parts.js";

const item = (change) => ({
  scriptName: "edge", executionModel: "stateless", outcome: "ok", cpuTime: 1, wallTime: 2, truncated: false,
  eventTimestamp: 1796020400100, event: null, exceptions: [], logs: [], diagnosticsChannelEvents: [], ...change,
});
const thrown = (message) => item({ outcome: "exception", exceptions: [{ name: "Error", message, timestamp: 1 }] });
const logged = (...message) => item({ logs: [{ level: "error", message, timestamp: 1 }] });

test("what may be trouble is sent, the rest is not", () => {
  for (const [want, what, i] of [
    [true, "overload thrown", thrown("Durable Object is overloaded. Too many requests queued.")],
    [true, "cut off", thrown("Durable Object is overload")],
    [true, "with a prefix", thrown("room 7: Error: Durable Object is overloaded")],
    [true, "memory", thrown("Durable Object’s isolate exceeded its memory limit and was reset.")],
    [true, "memory, cut off", thrown("Worker has exceeded mem")],
    [true, "cpu", thrown("Worker exceeded CPU time limit.")],
    [true, "account", thrown("Your account is generating too much load on Durable Objects. Please back off")],
    [true, "logged in an ok record", logged("failed:", { msg: "Durable Object is overloaded.", durableObjectId: "x" })],
    [true, "logged by warn as one string", item({ logs: [{ level: "log", message: "Durable Object is overloaded.", timestamp: 1 }] })],
    [true, "outcome", item({ outcome: "exceededMemory" })],
    [true, "outcome", item({ outcome: "exceededCpu" })],
    [false, "healthy", item({})],
    [false, "healthy with logs", logged("request done", { ms: 12 })],
    [false, "another error", thrown("x is not a function")],
    [false, "a deploy", thrown("Durable Object reset because its code was updated.")],
    [false, "an outcome that says nothing", item({ outcome: "canceled" })],
    [false, "a shape of the future", { outcome: "ok" }],
  ]) assert.equal(interesting(i), want, what);
});

test("every recorded event that snapflame would act on passes the filter", () => {
  const dir = new URL("../../../triggers/testdata/", import.meta.url);
  assert.ok(existsSync(dir), "the recorded events moved");
  const read = (name) => readFileSync(new URL(name, dir), "utf8").trim().split("\n").map((l) => JSON.parse(l));
  const events = read("events.ndjson");
  let seen = 0;
  for (const [n, want] of read("expected.ndjson").entries()) {
    const event = events[n];
    if (want.shape !== "tail" || !want.class || want.class === "none") continue;
    seen++;
    assert.ok(interesting(event), `event ${n + 1}: ${JSON.stringify(event)}`);
  }
  assert.ok(seen >= 10, `only ${seen} events`);
});

test("secrets of URLs stay", () => {
  for (const [text, want] of [
    ["GET https://a.b/c?token=x failed", "GET https://a.b/c?… failed"],
    ["https://u:p@a.b/c#frag", "https://a.b/c?…"],
    ["(https://a.b/c?x) and wss://d/e?f", "(https://a.b/c?…) and wss://d/e?…"],
    ["POST /c?code=1&x=2 500", "POST /c?… 500"],
    ["what? nothing", "what? nothing"],
    ["    at file:///bundle/worker.js:181:5", "    at file:///bundle/worker.js:181:5"],
  ]) assert.equal(redact(text), want);
  const message = ["x", { url: 'https://a.b/"c"?k=v\\n', next: [1, null] }];
  assert.deepEqual(JSON.parse(redact(JSON.stringify(["https://a.b/?k=v", { u: "https://a.b/c?k=v" }]))), ["https://a.b/?…", { u: "https://a.b/c?…" }]);
  assert.doesNotThrow(() => JSON.parse(redact(JSON.stringify(message))));
});

test("of a long text the part that matters stays, with the ids", () => {
  const id = "ab".repeat(32);
  const s = excerpt(`${"x".repeat(50_000)} Durable Object is overloaded. ${"y".repeat(50_000)} ${id}`);
  assert.match(s, /Durable Object is overloaded/);
  assert.ok(s.includes(id) && s.length < 2200, `${s.length}`);
});

test("a record is bounded, and the telling lines come first", () => {
  const logs = Array.from({ length: 200 }, (_, i) => ({ level: "warn", message: ["z".repeat(30_000), i], timestamp: i }));
  logs.push({ level: "log", message: ["id", "cd".repeat(32)], timestamp: 200 }, { level: "log", message: ["Durable Object is overloaded."], timestamp: 201 });
  const exceptions = Array.from({ length: 200 }, () => ({ name: "Error", message: "m".repeat(9000), stack: "s".repeat(90_000), timestamp: 1 }));
  const r = record(item({ logs, exceptions }), {});
  const size = JSON.stringify(r).length;
  assert.ok(size < 120_000, `${size} bytes`);
  assert.equal(r.truncated, true);
  assert.deepEqual(r.logs.slice(0, 2).map((l) => l.timestamp), [201, 200]);
});

test("what JSON cannot say does no harm", () => {
  const round = {};
  round.self = round;
  for (const message of [[1n], [round], ["\ud800"], undefined, null, 7]) {
    assert.doesNotThrow(() => JSON.stringify(record(logged("Durable Object is overloaded.", message), {})));
    assert.doesNotThrow(() => JSON.stringify(record(item({ logs: [{ level: "error", message, timestamp: 1 }] }), {})));
  }
});

test("addresses of mails and unknown headers stay", () => {
  const mail = record(item({ event: { mailFrom: "a@b", rcptTo: "c@d", rawSize: 7 } }), {});
  assert.deepEqual(mail.event, {});
  const request = { method: "GET", url: "https://a.b/c?d=e", headers: { authorization: "x", "cf-ray": "r", "content-length": "12" }, cf: { colo: "FRA", city: "x" } };
  const got = record(item({ event: { request, response: { status: 500 } } }), {});
  assert.deepEqual(got.event, { request: { method: "GET", url: "https://a.b/c", headers: { "cf-ray": "r", "content-length": "12" }, cf: { colo: "FRA" } }, response: { status: 500 } });
  assert.equal(record(item({ event: { request } }), { KEEP_QUERY: "true" }).event.request.url, "https://a.b/c?d=e");
});

test("namingObject logs an overload's object and lets every error pass", async (t) => {
  const said = [];
  t.mock.method(console, "error", (...args) => said.push(...args));
  const stub = { id: { toString: () => "ef".repeat(32) } };
  const overload = Object.assign(new Error("Durable Object is overloaded. Too many requests queued."), { overloaded: true });
  await assert.rejects(namingObject(stub, () => Promise.reject(overload)), (e) => e === overload);
  assert.deepEqual(said, [{ msg: overload.message, overloaded: true, durableObjectReset: undefined, durableObjectId: "ef".repeat(32) }]);
  await assert.rejects(namingObject(stub, () => Promise.reject(new TypeError("x"))), TypeError);
  await assert.rejects(namingObject(stub, () => Promise.reject(undefined)));
  assert.equal(said.length, 1);
  assert.equal(await namingObject(stub, async () => 5), 5);
});
