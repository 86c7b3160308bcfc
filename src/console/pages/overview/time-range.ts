/** The spans of time that the overview can show. */
export const TIME_RANGES = ["24h", "7d", "30d"] as const;

/** One of them. */
export type TimeRange = (typeof TIME_RANGES)[number];

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** What the buttons say. */
export const TIME_RANGE_NAMES: Readonly<Record<TimeRange, string>> = {
  "24h": "24 hours",
  "7d": "7 days",
  "30d": "30 days",
};

/** A span as a question to the ledger: from the first moment of an hour or a day (UTC) on, until now. */
export interface UsageWindow {
  readonly from: Date;
  readonly hourly: boolean;
}

/**
 * The window of a span that ends now. Whole buckets, the running one included: 24 hours are 24 bars, the last of them this hour. It stays the
 * same until the next hour or day begins, so that a page which asks again asks the same question.
 */
export function usageWindow(span: TimeRange, now: number): UsageWindow {
  if (span === "24h") return { from: new Date(floor(now, HOUR) - 23 * HOUR), hourly: true };
  const days = span === "7d" ? 7 : 30;
  return { from: new Date(floor(now, DAY) - (days - 1) * DAY), hourly: false };
}

/** The name of a bucket under the chart, UTC: "14:00", or "22 Nov". At midnight an hour is named by its day, so that the days can be told. */
export function bucketLabel(start: Date, hourly: boolean): string {
  if (!hourly) return dayLabel(start);
  return start.getUTCHours() === 0 ? dayLabel(start) : `${String(start.getUTCHours()).padStart(2, "0")}:00`;
}

/** The whole name of a bucket, for the table behind the chart: "22 Nov 2026, 14:00 to 15:00 UTC". */
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

function floor(moment: number, step: number): number {
  return Math.floor(moment / step) * step;
}
