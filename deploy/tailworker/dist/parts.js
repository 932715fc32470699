// src/text.ts
var trouble = /is\s+overload|exceeded\s+(?:its\s+)?(?:mem|cpu)|your\s+account\s+is\s+(?:generating\s+too|doing\s+too)/i;
var objectID = /\b[0-9a-f]{64}\b/gi;
var maxText = 2e3;
function plain(message) {
  if (typeof message === "string") return message;
  try {
    return JSON.stringify(message, (_, v) => typeof v === "bigint" ? String(v) : v) ?? "";
  } catch {
    return String(message);
  }
}
function says(message) {
  return Array.isArray(message) ? message.some((m) => trouble.test(plain(m))) : trouble.test(plain(message));
}
function namesObject(message) {
  return plain(message).search(objectID) >= 0;
}
function excerpt(s) {
  if (s.length <= maxText) return s;
  const from = Math.max(0, s.search(trouble) - maxText / 4);
  const part = s.slice(from, from + maxText);
  const ids = [...new Set(s.match(objectID))].filter((id) => !part.includes(id)).slice(0, 4);
  return [from > 0 ? "\u2026" : "", part, from + maxText < s.length ? "\u2026" : "", ...ids.map((id) => ` ${id}`)].join("");
}
function redact(s) {
  return s.replace(/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/?#"'\\<>@]+@/gi, "$1").replace(/\?[\w.%~-]+=[^\s"'`\\<>)\]]*/g, "?\u2026").replace(/\b([a-z][a-z0-9+.-]*:\/\/[^\s?#"'`\\<>)\]]+)[?#][^\s"'`\\<>)\]]*/gi, "$1?\u2026");
}

// src/record.ts
var outcomes = /* @__PURE__ */ new Set(["exceededMemory", "exceededCpu"]);
var maxLogs = 20;
var maxExceptions = 10;
function interesting(item) {
  try {
    return outcomes.has(item.outcome) || item.exceptions.some((e) => trouble.test(e.message)) || item.logs.some((l) => says(l.message));
  } catch {
    return false;
  }
}
function objectOf(item) {
  return item.durableObjectId;
}
function record(item, env) {
  const keep = env.KEEP_QUERY === "true";
  const clean = (s) => keep ? excerpt(s) : redact(excerpt(s));
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
      name: e.name,
      message: clean(e.message),
      stack: e.stack && clean(e.stack),
      timestamp: e.timestamp
    })),
    logs: logs.slice(0, maxLogs).map((l) => ({ level: l.level, timestamp: l.timestamp, message: args(l.message, clean) })),
    diagnosticsChannelEvents: []
  };
}
function useful(logs) {
  const rank = (l) => says(l.message) ? 0 : namesObject(l.message) ? 1 : l.level === "error" ? 2 : l.level === "warn" ? 3 : 4;
  return logs.map((line) => ({ line, rank: rank(line) })).filter((l) => l.rank < 4).sort((a, b) => a.rank - b.rank).map((l) => l.line);
}
function args(message, clean) {
  const s = plain(message);
  if (s.length <= maxText) {
    try {
      return JSON.parse(clean(s));
    } catch {
    }
  }
  return [clean(s)];
}
function event(e, keep) {
  if (!e) return null;
  if (!("request" in e)) return other(e);
  const { request, response } = e;
  const headers = {};
  for (const name of ["content-length", "content-type", "cf-ray"]) {
    const value = request.headers?.[name];
    if (value) headers[name] = value;
  }
  const colo = request.cf?.colo;
  return {
    request: { method: request.method, url: keep ? request.url : withoutQuery(request.url), headers, cf: { colo } },
    response: response && { status: response.status }
  };
}
function withoutQuery(url) {
  const end = url.search(/[?#]/);
  return redact(end < 0 ? url : url.slice(0, end));
}
function other(e) {
  const out = {};
  for (const key of ["rpcMethod", "scheduledTime", "cron", "queue", "batchSize", "getWebSocketEvent"]) {
    if (key in e) out[key] = e[key];
  }
  return out;
}

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
export {
  excerpt,
  interesting,
  namingObject,
  record,
  redact
};
