import type { Random } from "../core/clock.ts";

/** Delay after the first failure, longest delay, and longest wait that a receiver can ask for, ms. */
const [FIRST_MS, LONGEST_MS, ASKED_MS] = [5_000, 6 * 3_600_000, 24 * 3_600_000];

/** Time of failures after which an endpoint is paused, ms. */
export const GIVE_UP_MS = 72 * 3_600_000;

/**
 * How long to wait before the next attempt, ms: doubles from 5 s up to 6 h, with a fifth of jitter either
 * way, and at least what the receiver asked for, up to a day.
 * @param failures in a row, at least 1
 */
export function retryDelayMs(failures: number, random: Random, retryAfterMs = 0): number {
  const delay = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures - 1, 30));
  const [high = 0, low = 0] = random.bytes(2);
  const jitter = 0.8 + (0.4 * (high * 256 + low)) / 65_535;
  return Math.round(Math.max(delay * jitter, Math.min(retryAfterMs, ASKED_MS)));
}

/** Reads a Retry-After header, seconds or a date (RFC 9110 section 10.2.3), as ms; undefined if invalid. */
export function retryAfterMs(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
