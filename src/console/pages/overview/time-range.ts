/** Time ranges of the usage chart. */
export const TIME_RANGES = ["24h", "7d", "30d"] as const;

/** A time range of the usage chart. */
export type TimeRange = (typeof TIME_RANGES)[number];

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Names of the time ranges. */
export const TIME_RANGE_NAMES: Readonly<Record<TimeRange, string>> = {
  "24h": "24 hours",
  "7d": "7 days",
  "30d": "30 days",
};

/** Input of a usage query: from the start of an hour or UTC day until now. */
export interface UsageWindow {
  readonly from: Date;
  readonly hourly: boolean;
}

/**
 * Returns the window that ends now, in whole buckets including the current one: 24 hours have 24 bars.
 * It changes only on the hour or day, so that the query key stays stable.
 */
export function usageWindow(span: TimeRange, now: number): UsageWindow {
  if (span === "24h") return { from: new Date(floor(now, HOUR) - 23 * HOUR), hourly: true };
  const days = span === "7d" ? 7 : 30;
  return { from: new Date(floor(now, DAY) - (days - 1) * DAY), hourly: false };
}

/** Returns the axis label of a bucket: `14:00`, or `22 Nov`. Midnight shows its day. */
export function bucketLabel(start: Date, hourly: boolean): string {
  if (!hourly) return dayLabel(start);
  return start.getUTCHours() === 0 ? dayLabel(start) : `${String(start.getUTCHours()).padStart(2, "0")}:00`;
}

/** Returns the full label of a bucket: `22 Nov 2026, 14:00 to 15:00 UTC`. */
export function bucketTitle(start: Date, hourly: boolean): string {
  const day = `${dayLabel(start)} ${start.getUTCFullYear()}`;
  if (!hourly) return `${day} UTC`;
  const hour = start.getUTCHours();
  return `${day}, ${String(hour).padStart(2, "0")}:00 to ${String((hour + 1) % 24).padStart(2, "0")}:00 UTC`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"] as const;

function dayLabel(date: Date): string {
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()] ?? ""}`;
}

function floor(time: number, step: number): number {
  return Math.floor(time / step) * step;
}
