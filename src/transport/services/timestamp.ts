import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { invalidField } from "../../domain/core/errors.ts";

/** Years 1 to 9999, seconds since the Unix epoch (google.protobuf.Timestamp). */
const [FIRST, LAST] = [-62_135_596_800n, 253_402_300_799n];

/**
 * Returns the date of a request's timestamp in milliseconds; undefined when absent.
 * @param path path of the field
 * @throws ToolgateError INVALID_REQUEST when it is out of range
 */
export function dateIn(path: string, timestamp: Timestamp | undefined): Date | undefined {
  if (!timestamp) return undefined;
  const { seconds, nanos } = timestamp;
  if (seconds < FIRST || seconds > LAST || nanos < 0 || nanos > 999_999_999) {
    throw invalidField(path, "must be a timestamp between the years 1 and 9999");
  }
  return new Date(Number(seconds) * 1000 + Math.floor(nanos / 1_000_000));
}
