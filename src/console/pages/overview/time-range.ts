export const TIME_RANGES = ["24h", "7d", "30d", "12m", "custom"] as const;

export type TimeRange = (typeof TIME_RANGES)[number];

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Longest custom range, days; the longest one that is shown by hour, and by day. */
const [MAX_DAYS, MAX_HOURLY_DAYS, MAX_DAILY_DAYS] = [366, 3, 92];

/** What a bar of a chart stands for. */
export type Step = "hour" | "day" | "month";

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
  if (span === "12m") {
    const today = inZone(new Date(now), zone);
    return { from: startOf(zone, today.getUTCFullYear(), today.getUTCMonth() - 11, 1), hourly: false };
  }
  const days = { "7d": 7, "30d": 30 }[span];
  return { from: new Date(floor(now, zone === "UTC" ? DAY : HOUR) - (days - 1) * DAY), hourly: false };
}

/** Returns the start of a day of a zone. Months count from 0; a day out of range is of another month. */
function startOf(zone: Zone, ...day: [year: number, month: number, date: number]): Date {
  return zone === "UTC" ? new Date(Date.UTC(...day)) : new Date(...day);
}

/** Returns the step in which a range is drawn. */
export function stepOf(span: TimeRange, { from, to }: Days, hourly: boolean): Step {
  if (hourly) return "hour";
  const isLong =
    span === "12m" || (span === "custom" && Date.parse(to) - Date.parse(from) >= MAX_DAILY_DAYS * DAY);
  return isLong ? "month" : "day";
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
  return startOf(zone, year, month - 1, date + later);
}

/** Returns the axis label of a bucket: `14:00`, `22 Nov` or `Nov 2026`. Midnight shows its day. */
export function bucketLabel(start: Date, step: Step, zone: Zone = "UTC"): string {
  const { day, month, time } = partsOf(start, zone);
  if (step === "month") return month;
  return step === "day" || time === "00:00" ? day : time;
}

/** Returns the full label of a bucket: `22 Nov 2026, 14:00 to 15:00 UTC`. */
export function bucketTitle(start: Date, step: Step, zone: Zone = "UTC"): string {
  const { day, month, year, time } = partsOf(start, zone);
  const suffix = zone === "UTC" ? " UTC" : "";
  if (step === "month") return `${month}${suffix}`;
  if (step === "day") return `${day} ${year}${suffix}`;
  return `${day} ${year}, ${time} to ${partsOf(new Date(start.getTime() + HOUR), zone).time}${suffix}`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"] as const;

/** Returns a time whose parts in UTC are those of `date` in the zone, as the browser's calendar has it. */
function inZone(date: Date, zone: Zone): Date {
  return zone === "UTC" ? date : new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
}

/** Returns the parts of a time in a zone: `22 Nov`, `Nov 2026`, 2026 and `14:00`. */
export function partsOf(date: Date, zone: Zone) {
  const at = inZone(date, zone);
  const [year, month = ""] = [at.getUTCFullYear(), MONTHS[at.getUTCMonth()]];
  const time = at.toISOString().slice(11, 16);
  return { day: `${at.getUTCDate()} ${month}`, month: `${month} ${year}`, year, time };
}

function floor(time: number, step: number): number {
  return Math.floor(time / step) * step;
}
