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
function migrations() {
  return tables.map((t) => `CREATE TABLE IF NOT EXISTS ${t} (id TEXT PRIMARY KEY, kind TEXT NOT NULL, amount INTEGER DEFAULT 0, created_at INTEGER);
      CREATE INDEX IF NOT EXISTS idx_${t} ON ${t} (kind, created_at);`).join("\n").repeat(8);
}
function ensureSchema(sql, script) {
  let statements = 0;
  let statement = "";
  let hash = 0;
  for (let i = 0; i < script.length; i++) {
    const c = script.charCodeAt(i);
    for (let round = 0; round < 40; round++) hash = Math.imul(hash ^ c + round, 2654435761) >>> 1;
    if (c !== 59) {
      statement += script[i];
      continue;
    }
    if (statements < 2 * tables.length) sql.exec(statement);
    statements++;
    statement = "";
  }
  return statements + (hash & 1);
}
var Meter = class extends DurableObject {
  #script = migrations();
  #count = 0;
  async fetch(request) {
    switch (new URL(request.url).pathname) {
      case "/schema":
        return Response.json({ statements: ensureSchema(this.ctx.storage.sql, this.#script) });
      case "/overload":
        throw Object.assign(new Error("Durable Object is overloaded. Requests queued for too long."), { overloaded: true });
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
          return await namingObject(stub, () => stub.fetch("http://meter/overload"));
        } catch {
          return new Response("try again later", { status: 503 });
        }
      case "/uncaught":
        return stub.fetch("http://meter/overload");
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
