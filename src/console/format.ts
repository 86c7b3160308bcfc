const MICRO = 1_000_000n;

/** Formats micro-USD exactly, with two to six decimals. @example `$1.25`, `$0.0025`, `-$1,204.50` */
export function formatUsd(microUsd: bigint): string {
  const size = microUsd < 0n ? -microUsd : microUsd;
  const decimals = (size % MICRO)
    .toString()
    .padStart(6, "0")
    .replace(/0{1,4}$/, "");
  return `${microUsd < 0n ? "-" : ""}$${groupThousands((size / MICRO).toString())}.${decimals}`;
}

/** Returns how many decimals {@link formatUsd} writes, 2 to 6. */
export function decimalsOf(microUsd: bigint): number {
  const text = formatUsd(microUsd);
  return text.length - text.indexOf(".") - 1;
}

/** Formats micro-USD with a leading sign, for changes of a balance. */
export function formatSignedUsd(microUsd: bigint): string {
  return microUsd > 0n ? `+${formatUsd(microUsd)}` : formatUsd(microUsd);
}

/** Formats micro-USD as a plain decimal number: `1.25`. */
export function formatPlainUsd(microUsd: bigint): string {
  return formatUsd(microUsd).replaceAll(/[$,]/g, "");
}

/** Upper limit of amounts that can be entered, micro-USD; below the gateway's own limit. */
export const MAX_USD = 1_000_000_000n * MICRO;

/** Parses dollars. @returns micro-USD; undefined if invalid, negative or with more than six decimals */
export function parseUsd(text: string): bigint | undefined {
  const match = /^\$?\s*(\d{1,12}(?:,\d{3})*)(?:\.(\d{0,6}))?$/.exec(text.trim());
  if (!match) return undefined;
  const [, whole = "0", decimals = ""] = match;
  return BigInt(whole.replaceAll(",", "")) * MICRO + BigInt(decimals.padEnd(6, "0"));
}

/** Formats a count with thousands separators: `12,345`. */
export function formatCount(count: bigint | number): string {
  return groupThousands(count.toString());
}

/** Formats a count with its noun: `1 call`, `2 calls`. */
export function pluralize(count: bigint | number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${BigInt(count) === 1n ? one : many}`;
}

/** Shortens a long identifier or address: `7xKX…9fQm`, `key_01a2…3d66`. */
export function truncateMiddle(text: string, head = 4, tail = 4): string {
  // The type prefix does not count: it does not distinguish two identifiers.
  const start = head + (/^[a-z]+_/.exec(text)?.[0].length ?? 0);
  return text.length <= start + tail + 3 ? text : `${text.slice(0, start)}…${text.slice(-tail)}`;
}

/** Formats a duration: `820 ms`, `2.4 s`, `3 min 20 s`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  return seconds < 3_600
    ? `${Math.floor(seconds / 60)} min ${seconds % 60} s`
    : `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}

/** Formats a time in UTC to the second: `2026-03-01 14:05:09`. */
export function formatUtc(date: Date): string {
  return date.toISOString().slice(0, 19).replace("T", " ");
}

/** Formats a day in UTC: `2026-03-01`. */
export function formatUtcDay(date: Date): string {
  return date.toISOString().slice(0, 10);
}

const STEPS: readonly [seconds: number, unit: string][] = [
  [60, "second"],
  [3_600, "minute"],
  [86_400, "hour"],
  [86_400 * 60, "day"],
];

/** Formats a time relative to now: `3 minutes ago`, `in 2 days`; the day when it is over 60 days away. */
export function formatRelativeTime(date: Date, now: Date): string {
  const seconds = Math.round((date.getTime() - now.getTime()) / 1_000);
  const size = Math.abs(seconds);
  if (size < 10) return "just now";
  let divisor = 1;
  for (const [limit, unit] of STEPS) {
    // Round past times down and future times to the nearest unit: `in 1 hour`, not `in 60 minutes`.
    const count = seconds < 0 ? Math.floor(size / divisor) : Math.round(size / divisor);
    if (count * divisor < limit) {
      const text = pluralize(count, unit);
      return seconds < 0 ? `${text} ago` : `in ${text}`;
    }
    divisor = limit === 86_400 * 60 ? divisor : limit;
  }
  return formatUtcDay(date);
}

/** Capitalizes the first letter. */
export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function groupThousands(digits: string): string {
  return digits.replaceAll(/\B(?=(\d{3})+$)/g, ",");
}
