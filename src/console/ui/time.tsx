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
  if (at === undefined) return <span className="faint">{none}</span>;
  const date = at instanceof Date ? at : timestampDate(at);
  const local = date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" });
  return (
    <time dateTime={date.toISOString()} title={`${formatUtc(date)} UTC\n${local} (local)`} className="time">
      {relative ? <RelativeTime date={date} /> : `${formatUtc(date)} UTC`}
    </time>
  );
}

/** Renders again only when its text changes. */
function RelativeTime({ date }: { date: Date }) {
  return useSyncExternalStore(subscribe, () => formatRelativeTime(date, new Date()));
}

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** One timer for all relative times. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    for (const notify of listeners) notify();
  }, 1_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}
