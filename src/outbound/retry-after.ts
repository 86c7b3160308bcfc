/** Returns whole seconds of `Retry-After` (RFC 9110, 10.2.3), 1 to the most; undefined if there are none. */
export function retryAfterOf(headers: Headers, mostSeconds: number, now = Date.now()): number | undefined {
  const text = headers.get("retry-after")?.trim() ?? "";
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : secondsUntil(text, headers.get("date"), now);
  if (Number.isNaN(seconds)) return undefined;
  return Math.min(Math.max(Math.ceil(seconds), 1), mostSeconds);
}

/** By the server's own clock, if it says its time. */
function secondsUntil(date: string, today: string | null, now: number): number {
  // Date.parse takes many texts, such as "-1", for dates.
  if (!/^[A-Za-z]{3,9},? /.test(date)) return Number.NaN;
  const from = Date.parse(today ?? "");
  return (Date.parse(date) - (Number.isNaN(from) ? now : from)) / 1_000;
}
