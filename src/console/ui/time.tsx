import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useSyncExternalStore } from "react";
import { formatRelativeTime, formatUtc } from "../format.ts";

/**
 * A moment: in UTC, as everything is counted; or, `relative`, how long ago it is. Where the pointer rests it also says the local time.
 * `none` stands where there is none.
 */
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

/** What is a while ago is a while longer ago a while later: one clock for all of them, to ten seconds, and never behind, ms. */
function useClock(): number {
  return useSyncExternalStore(subscribe, () => Math.ceil(Date.now() / 10_000) * 10_000);
}

function subscribe(listener: () => void): () => void {
  const timer = setInterval(listener, 10_000);
  return () => clearInterval(timer);
}
