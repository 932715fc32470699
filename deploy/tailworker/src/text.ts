// Texts: which ones matter, and what of them leaves the account.

/**
 * Overloads and exceeded limits, whole or cut off, wide on purpose: snapflame
 * tells them from their look-alikes, this only keeps "request done" from being
 * sent. What snapflame would open an incident for must match.
 */
export const trouble = /is\s+overload|exceeded\s+(?:its\s+)?(?:mem|cpu)|your\s+account\s+is\s+(?:generating\s+too|doing\s+too)/i;

/** The id of a Durable Object. */
const objectID = /\b[0-9a-f]{64}\b/gi;

/** Bound of one text, in UTF-16 units. */
export const maxText = 2000;

/** A log's message as text; what JSON cannot say becomes a string. */
export function plain(message: unknown): string {
  if (typeof message === "string") return message;
  try {
    return JSON.stringify(message, (_, v: unknown) => (typeof v === "bigint" ? String(v) : v)) ?? "";
  } catch {
    return String(message);
  }
}

/** says is trouble.test over all arguments of a log line. */
export function says(message: unknown): boolean {
  return Array.isArray(message) ? message.some((m) => trouble.test(plain(m))) : trouble.test(plain(message));
}

export function namesObject(message: unknown): boolean {
  return plain(message).search(objectID) >= 0;
}

/** The part of a long text that matters, and the ids that were cut off with the rest. */
export function excerpt(s: string): string {
  if (s.length <= maxText) return s;
  const from = Math.max(0, s.search(trouble) - maxText / 4);
  const part = s.slice(from, from + maxText);
  const ids = [...new Set(s.match(objectID))].filter((id) => !part.includes(id)).slice(0, 4);
  return [from > 0 ? "…" : "", part, from + maxText < s.length ? "…" : "", ...ids.map((id) => ` ${id}`)].join("");
}

/**
 * A text without the query strings, fragments and passwords of its URLs. It
 * works on JSON too: it removes no quote and no backslash.
 */
export function redact(s: string): string {
  return s
    .replace(/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/?#"'\\<>@]+@/gi, "$1")
    .replace(/\?[\w.%~-]+=[^\s"'`\\<>)\]]*/g, "?…")
    .replace(/\b([a-z][a-z0-9+.-]*:\/\/[^\s?#"'`\\<>)\]]+)[?#][^\s"'`\\<>)\]]*/gi, "$1?…");
}
