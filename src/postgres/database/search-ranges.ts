/** Sorts after every text with the given prefix, byte by byte: no character is greater. */
export const AFTER = "\u{10ffff}";

/** How far clocks may differ, and how long after its request or quote a run is looked for, ms. */
export const [BEFORE_MS, AFTER_MS] = [300_000, 3_600_000];

/** The least UUIDv7 before the first time and after the last, ms. */
export function idsAround(first: number, last = first): [string, string] {
  const idAt = (time: number) => Math.max(0, time).toString(16).padStart(12, "0").padEnd(32, "0");
  return [idAt(first - BEFORE_MS), idAt(last + AFTER_MS)];
}
