// The app under test: a stateless Worker in front of a Durable Object that sets
// its schema up again on every request. Real overloads do not exist in the
// open-source runtime (it queues without bound), so overloaded() throws what
// Cloudflare throws, where Cloudflare throws it: at the caller.

import { DurableObject } from "cloudflare:workers";
import { namingObject } from "../src/overload";

interface Env {
  METER: DurableObjectNamespace<Meter>;
}

const tables = ["accounts", "plans", "usage", "invoices", "credits", "limits", "alerts", "api_keys", "sessions", "exports"];
const script = tables.map((t) => `CREATE TABLE IF NOT EXISTS ${t} (id TEXT PRIMARY KEY, kind TEXT, amount INTEGER, at INTEGER);`).join("\n");

/**
 * The pathology: the whole script is split and run again for every request.
 * Its loops stand in one body, so that no callee takes the blame in a profile.
 */
function ensureSchema(sql: SqlStorage): number {
  let statements = 0;
  let statement = "";
  let sum = 0;
  for (const c of script) {
    for (let round = 0; round < 400; round++) sum = Math.imul(sum ^ round, 0x9e3779b1) >>> 1;
    statement += c;
    if (c !== ";") continue;
    sql.exec(statement);
    statement = "";
    statements++;
  }
  return statements + (sum & 1);
}

function overloaded(): never {
  throw Object.assign(new Error("Durable Object is overloaded. Requests queued for too long."), { overloaded: true });
}

export class Meter extends DurableObject<Env> {
  #count = 0;

  override async fetch(request: Request): Promise<Response> {
    switch (new URL(request.url).pathname) {
      case "/schema":
        return Response.json({ statements: ensureSchema(this.ctx.storage.sql) });
      case "/fail":
        return overloaded(); // as an object that calls an overloaded one
      default:
        return Response.json({ count: ++this.#count });
    }
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const url = new URL(request.url);
    const id = env.METER.idFromName(url.searchParams.get("id") ?? "tenant-1");
    const stub = env.METER.get(id);
    switch (url.pathname) {
      case "/id":
        return new Response(id.toString());
      case "/plain": // no object, nothing wrong
        return new Response("ok");
      case "/look-alike":
        console.error("D1_ERROR: no such table: usage");
        throw new Error("Durable Object reset because its code was updated.");
      case "/overload": // the caller catches, names the object, and answers
        try {
          return await namingObject(stub, async () => overloaded());
        } catch {
          return new Response("try again later", { status: 503 });
        }
      case "/uncaught":
        return stub.fetch("http://meter/fail");
      case "/buried": // the text far inside a long line, after many others
        for (let i = 0; i < 30; i++) console.warn("retrying", i);
        console.error(`${"x".repeat(20_000)} Durable Object is overloaded. Too many requests queued. ${"y".repeat(20_000)} ${id}`);
        return new Response("ok");
      case "/secrets":
        console.error("GET https://bob:hunter2@example.com/a?token=secret1#secret2 failed:", { url: "https://example.com/b?key=secret3", path: "/c?code=secret4" },
          "Durable Object is overloaded. Too much data queued.");
        return new Response("ok");
      default:
        return stub.fetch(`http://meter${url.pathname}`);
    }
  },
} satisfies ExportedHandler<Env>;
