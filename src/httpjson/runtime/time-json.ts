import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt";
import { JsonFieldError } from "./json-error.ts";

/** Seconds of 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z, the range of Timestamp. */
const firstSecond = -62_135_596_800n;
const lastSecond = 253_402_300_799n;
/** Seconds of about 10,000 years, the range of Duration on both sides. */
const longestDuration = 315_576_000_000n;

/** The second that was written last: what happens at one time is written at one time. */
let latest = { seconds: 0n, text: "1970-01-01T00:00:00" };

/** Writes RFC 3339 in UTC with 0, 3, 6 or 9 digits. @throws RangeError outside the years 1 to 9999 */
export function timestampToJson(timestamp: Timestamp): string {
  return `${secondToJson(timestamp)}${fraction(timestamp.nanos)}Z`;
}

/**
 * Writes RFC 3339 in UTC with 3 digits, so that texts sort as times do; finer ones are cut.
 *
 * @throws RangeError outside the years 1 to 9999
 */
export function timestampToMilliseconds(timestamp: Timestamp): string {
  return `${secondToJson(timestamp)}.${padded(Math.floor(timestamp.nanos / 1_000_000), 3)}Z`;
}

function secondToJson({ seconds, nanos }: Timestamp): string {
  if (seconds < firstSecond || seconds > lastSecond || nanos < 0 || nanos > 999_999_999) {
    throw new RangeError(`timestamp out of range: ${seconds} seconds, ${nanos} nanos`);
  }
  if (seconds !== latest.seconds)
    latest = { seconds, text: new Date(Number(seconds) * 1000).toISOString().slice(0, 19) };
  return latest.text;
}

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))$/;

/** Reads RFC 3339 with any offset and up to nine fraction digits. */
export function readTimestamp(json: unknown, path: string): Timestamp {
  const match = typeof json === "string" ? rfc3339.exec(json) : null;
  if (match === null) {
    throw new JsonFieldError(path, "must be an RFC 3339 time such as 2026-01-31T12:00:00Z");
  }
  const [
    ,
    year,
    month,
    day,
    hour,
    minute,
    second,
    digits = "",
    sign = "+",
    offsetHours = "00",
    offsetMinutes = "00",
  ] = match;
  const clock = `${year}-${month}-${day}T${hour}:${minute}:${second}`;
  const milliseconds = Date.parse(`${clock}Z`);
  // Date.parse takes 31 February for 3 March and 24:00 for the next day.
  if (
    Number.isNaN(milliseconds) ||
    new Date(milliseconds).toISOString().slice(0, 19) !== clock ||
    Number(offsetHours) > 23 ||
    Number(offsetMinutes) > 59
  ) {
    throw new JsonFieldError(path, "is no date and time of the calendar");
  }
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60 * (sign === "-" ? -1 : 1);
  const seconds = BigInt(milliseconds / 1000 - offset);
  if (seconds < firstSecond || seconds > lastSecond) {
    throw new JsonFieldError(path, "must be in the years 1 to 9999");
  }
  return { $typeName: "google.protobuf.Timestamp", seconds, nanos: Number(digits.padEnd(9, "0")) };
}

/** Writes seconds: `1.500s`. @throws RangeError beyond 10,000 years or with parts of unlike sign */
export function durationToJson({ seconds, nanos }: Duration): string {
  const inRange = seconds <= longestDuration && seconds >= -longestDuration && Math.abs(nanos) <= 999_999_999;
  if (!inRange || (seconds > 0n && nanos < 0) || (seconds < 0n && nanos > 0)) {
    throw new RangeError(`duration out of range: ${seconds} seconds, ${nanos} nanos`);
  }
  const sign = seconds < 0n || nanos < 0 ? "-" : "";
  return `${sign}${seconds < 0n ? -seconds : seconds}${fraction(Math.abs(nanos))}s`;
}

/** Reads seconds with the suffix `s` and up to nine fraction digits. */
export function readDuration(json: unknown, path: string): Duration {
  const match = typeof json === "string" ? /^(-?)(\d{1,12})(?:\.(\d{1,9}))?s$/.exec(json) : null;
  if (match === null) {
    throw new JsonFieldError(path, "must be seconds with the suffix s, such as 1.5s");
  }
  const [, sign, whole = "", digits = ""] = match;
  const seconds = BigInt(whole);
  if (seconds > longestDuration) {
    throw new JsonFieldError(path, `must be within ${longestDuration} seconds`);
  }
  const nanos = Number(digits.padEnd(9, "0"));
  return sign === "-"
    ? { $typeName: "google.protobuf.Duration", seconds: -seconds, nanos: nanos === 0 ? 0 : -nanos }
    : { $typeName: "google.protobuf.Duration", seconds, nanos };
}

function fraction(nanos: number): string {
  if (nanos === 0) {
    return "";
  }
  if (nanos % 1_000_000 === 0) {
    return `.${padded(nanos / 1_000_000, 3)}`;
  }
  return nanos % 1_000 === 0 ? `.${padded(nanos / 1_000, 6)}` : `.${padded(nanos, 9)}`;
}

function padded(value: number, count: number): string {
  return value.toString().padStart(count, "0");
}
