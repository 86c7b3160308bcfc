import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useSyncExternalStore } from "react";
import { formatRelativeTime, formatUtc } from "../format.ts";

/** A time in UTC, or relative to now. The tooltip adds the local time. `none` is shown for undefined. */
export function Time({
  at,
  relative = false,
  none = "—",
}: {
  at: Timestamp | Date | undefined;
  relative?: boolean;
  none?: string;
}) {
  const now = useClock();
  if (at === undefined) return <span className="faint">{none}</span>;
  const date = at instanceof Date ? at : timestampDate(at);
  const local = date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" });
  return (
    <time dateTime={date.toISOString()} title={`${formatUtc(date)} UTC\n${local} (local)`} className="time">
      {relative ? formatRelativeTime(date, new Date(now)) : `${formatUtc(date)} UTC`}
    </time>
  );
}

/** Shared clock for relative times, ms. */
function useClock(): number {
  return useSyncExternalStore(subscribe, () => Math.ceil(Date.now() / 10_000) * 10_000);
}

function subscribe(listener: () => void): () => void {
  const timer = setInterval(listener, 10_000);
  return () => clearInterval(timer);
}
