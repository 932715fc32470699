// To snapflame's own door: 202 once JetStream has acknowledged.

import type { Env } from "./index";
import type { Outcome } from "./send";

const timeoutMs = 5000;

export async function post(body: string, key: string, dropped: number, env: Env): Promise<Outcome> {
  if (!env.SNAPFLAME && !env.SNAPFLAME_URL) {
    console.error("snapflame: set SNAPFLAME_URL in wrangler.jsonc");
    return "refused";
  }
  const url = `${(env.SNAPFLAME_URL ?? "http://snapflame").replace(/\/+$/, "")}/ingest/events`;
  const request = {
    method: "POST",
    body,
    headers: {
      "content-type": "application/x-ndjson",
      authorization: `Bearer ${env.SNAPFLAME_TOKEN ?? ""}`,
      "idempotency-key": key,
      ...(dropped > 0 ? { "x-snapflame-dropped": String(dropped) } : {}),
    },
    signal: AbortSignal.timeout(timeoutMs),
  };
  try {
    const answer = await (env.SNAPFLAME ? env.SNAPFLAME.fetch(url, request) : fetch(url, request));
    const said = await answer.text();
    if (answer.ok) return "sent";
    console.warn(`snapflame: ${answer.status}: ${said.slice(0, 200)}`);
    // Anything else will not get better: the token or the body is wrong.
    return answer.status >= 500 || answer.status === 429 || answer.status === 408 ? "again" : "refused";
  } catch (error) {
    console.warn("snapflame: no answer:", String(error));
    return "again";
  }
}
