// Straight to NATS over WebSocket, for those whose NATS is reachable from
// Cloudflare. A publish counts only once JetStream has acknowledged it.

import { credsAuthenticator, headers, wsconnect } from "@nats-io/nats-core";
import type { Env } from "./index";
import type { Outcome } from "./send";

export async function publish(body: string, key: string, env: Env): Promise<Outcome> {
  try {
    const connection = await wsconnect({
      servers: env.NATS_WS_URL ?? "", name: "snapflame-tail", timeout: 3000, reconnect: false, ignoreClusterUpdates: true,
      ...(env.NATS_TOKEN ? { token: env.NATS_TOKEN } : {}),
      ...(env.NATS_CREDS ? { authenticator: credsAuthenticator(new TextEncoder().encode(env.NATS_CREDS)) } : {}),
    });
    try {
      const h = headers();
      h.set("Nats-Msg-Id", key);
      // "_" names no script: a batch can be of several, and each record has its own.
      const subject = `${env.NATS_SUBJECT ?? "workers.events"}._`;
      const answer = await connection.request(subject, body, { timeout: 5000, headers: h });
      const ack = answer.json<{ stream?: string; error?: { description?: string } }>();
      if (ack.stream) return "sent";
      throw new Error(ack.error?.description ?? `nobody keeps ${subject}`);
    } finally {
      await connection.close();
    }
  } catch (error) {
    console.warn("snapflame: NATS does not take the events:", String(error));
    return "again";
  }
}
