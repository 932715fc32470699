// What is worth sending, and what of it.

import type { Env } from "./index";
import { excerpt, maxText, namesObject, plain, redact, says, trouble } from "./text";

/** Outcomes that are trouble by themselves. */
const outcomes = new Set(["exceededMemory", "exceededCpu"]);

/** Bounds of one record: what is left out is said by `truncated`. */
const maxLogs = 20;
const maxExceptions = 10;

export function interesting(item: TraceItem): boolean {
  try {
    return outcomes.has(item.outcome) || item.exceptions.some((e) => trouble.test(e.message)) || item.logs.some((l) => says(l.message));
  } catch {
    return false; // a record of a shape that is not known yet
  }
}

/** The field is younger than the types of some projects. */
export function objectOf(item: TraceItem): string | undefined {
  return (item as TraceItem & { durableObjectId?: string }).durableObjectId;
}

/** A trace item as plain JSON, without what snapflame has no use for. */
export function record(item: TraceItem, env: Env): Record<string, unknown> {
  const keep = env.KEEP_QUERY === "true";
  const clean = (s: string) => (keep ? excerpt(s) : redact(excerpt(s)));
  const logs = useful(item.logs);
  return {
    scriptName: item.scriptName ?? env.SCRIPT_NAME ?? null,
    scriptVersion: item.scriptVersion && { id: item.scriptVersion.id, tag: item.scriptVersion.tag },
    scriptTags: item.scriptTags,
    dispatchNamespace: item.dispatchNamespace,
    entrypoint: item.entrypoint,
    durableObjectId: objectOf(item),
    executionModel: item.executionModel,
    outcome: item.outcome,
    cpuTime: item.cpuTime,
    wallTime: item.wallTime,
    truncated: item.truncated || logs.length > maxLogs || item.exceptions.length > maxExceptions,
    eventTimestamp: item.eventTimestamp,
    event: event(item.event, keep),
    exceptions: item.exceptions.slice(0, maxExceptions).map((e) => ({
      name: e.name, message: clean(e.message), stack: e.stack && clean(e.stack), timestamp: e.timestamp,
    })),
    logs: logs.slice(0, maxLogs).map((l) => ({ level: l.level, timestamp: l.timestamp, message: args(l.message, clean) })),
    diagnosticsChannelEvents: [],
  };
}

/** The lines that say what happened or to whom, the most telling first. */
function useful(logs: TraceLog[]): TraceLog[] {
  const rank = (l: TraceLog) => (says(l.message) ? 0 : namesObject(l.message) ? 1 : l.level === "error" ? 2 : l.level === "warn" ? 3 : 4);
  return logs
    .map((line) => ({ line, rank: rank(line) }))
    .filter((l) => l.rank < 4)
    .sort((a, b) => a.rank - b.rank) // a stable sort: in their order within a rank
    .map((l) => l.line);
}

/** The arguments of a log line; a long one becomes the text that matters of it. */
function args(message: unknown, clean: (s: string) => string): unknown {
  const s = plain(message);
  if (s.length <= maxText) {
    try {
      return JSON.parse(clean(s));
    } catch {
      // not JSON: a message that is a bare string
    }
  }
  return [clean(s)];
}

/** Of a request only what an incident shows: method, path, size, colo, ray. */
function event(e: TraceItem["event"], keep: boolean): unknown {
  if (!e) return null;
  if (!("request" in e)) return other(e);
  const { request, response } = e as TraceItemFetchEventInfo;
  const headers: Record<string, string> = {};
  for (const name of ["content-length", "content-type", "cf-ray"]) {
    const value = request.headers?.[name];
    if (value) headers[name] = value;
  }
  const colo = (request.cf as { colo?: unknown } | undefined)?.colo;
  return {
    request: { method: request.method, url: keep ? request.url : withoutQuery(request.url), headers, cf: { colo } },
    response: response && { status: response.status },
  };
}

function withoutQuery(url: string): string {
  const end = url.search(/[?#]/);
  return redact(end < 0 ? url : url.slice(0, end));
}

/** Other events by what they are; an e-mail's addresses stay where they are. */
function other(e: object): unknown {
  const out: Record<string, unknown> = {};
  for (const key of ["rpcMethod", "scheduledTime", "cron", "queue", "batchSize", "getWebSocketEvent"]) {
    if (key in e) out[key] = (e as Record<string, unknown>)[key];
  }
  return out;
}
