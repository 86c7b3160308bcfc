export const TIME_RANGES = ["24h", "7d", "30d", "12m", "custom"] as const;

export type TimeRange = (typeof TIME_RANGES)[number];

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Longest custom range, days; and the longest one that is shown by hour. */
const [MAX_DAYS, MAX_HOURLY_DAYS] = [366, 3];

export const TIME_RANGE_NAMES: Readonly<Record<Exclude<TimeRange, "custom">, string>> = {
  "24h": "24 hours",
  "7d": "7 days",
  "30d": "30 days",
  "12m": "12 months",
};

/** Input of a usage query: from the start of an hour or day until now, or until `to`. */
export interface UsageWindow {
  readonly from: Date;
  readonly to?: Date;
  readonly hourly: boolean;
}

/** Returns the window that ends now, in whole buckets: it changes, and the query key, by hour or day. */
export function usageWindow(
  span: Exclude<TimeRange, "custom">,
  now: number,
  zone: Zone = "UTC",
): UsageWindow {
  if (span === "24h") return { from: new Date(floor(now, HOUR) - 23 * HOUR), hourly: true };
  const days = { "7d": 7, "30d": 30, "12m": 365 }[span];
  return { from: new Date(floor(now, zone === "UTC" ? DAY : HOUR) - (days - 1) * DAY), hourly: false };
}

/** Where hours and days start: UTC, or the browser's zone. */
export type Zone = "UTC" | "local";

/** Returns the IANA name of a zone. */
export function zoneName(zone: Zone): string {
  return zone === "UTC" ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** The first and the last day of a custom range, `2026-11-22`, as entered. */
export interface Days {
  readonly from: string;
  readonly to: string;
}

export function daysError({ from, to }: Days): string | undefined {
  const [start, end] = [Date.parse(from), Date.parse(to)];
  if (Number.isNaN(start) || Number.isNaN(end)) return "Enter the first and the last day.";
  if (start > end) return "The first day is after the last day.";
  if (start > Date.now() + DAY) return "The first day is in the future.";
  return (end - start) / DAY >= MAX_DAYS ? `At most ${MAX_DAYS} days.` : undefined;
}

/** Returns the window of whole days of a zone; of a valid range. */
export function customWindow({ from, to }: Days, zone: Zone): UsageWindow {
  const hourly = (Date.parse(to) - Date.parse(from)) / DAY < MAX_HOURLY_DAYS;
  return { from: midnight(from, 0, zone), to: midnight(to, 1, zone), hourly };
}

function midnight(day: string, later: number, zone: Zone): Date {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  return zone === "UTC"
    ? new Date(Date.UTC(year, month - 1, date + later))
    : new Date(year, month - 1, date + later);
}

/** Returns the axis label of a bucket: `14:00`, or `22 Nov`. Midnight shows its day. */
export function bucketLabel(start: Date, hourly: boolean, zone: Zone = "UTC"): string {
  const { day, time } = partsOf(start, zone);
  return !hourly || time === "00:00" ? day : time;
}

/** Returns the full label of a bucket: `22 Nov 2026, 14:00 to 15:00 UTC`. */
export function bucketTitle(start: Date, hourly: boolean, zone: Zone = "UTC"): string {
  const { day, year, time } = partsOf(start, zone);
  const suffix = zone === "UTC" ? " UTC" : "";
  if (!hourly) return `${day} ${year}${suffix}`;
  return `${day} ${year}, ${time} to ${partsOf(new Date(start.getTime() + HOUR), zone).time}${suffix}`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"] as const;

/** The parts of a time in a zone. Local ones come from the browser's own calendar. */
function partsOf(date: Date, zone: Zone): { day: string; year: number; time: string } {
  const utc = zone === "UTC";
  const [month, year] = utc
    ? [date.getUTCMonth(), date.getUTCFullYear()]
    : [date.getMonth(), date.getFullYear()];
  const clock = utc ? [date.getUTCHours(), date.getUTCMinutes()] : [date.getHours(), date.getMinutes()];
  return {
    day: `${utc ? date.getUTCDate() : date.getDate()} ${MONTHS[month] ?? ""}`,
    year,
    time: clock.map((part) => String(part).padStart(2, "0")).join(":"),
  };
}

function floor(time: number, step: number): number {
  return Math.floor(time / step) * step;
}
