import { timestampMs, type Timestamp } from "@bufbuild/protobuf/wkt";
import { RunStatus, type Run } from "#gen/toolgate/v1/run_pb.ts";
import { formatDuration } from "../../format.ts";
import { Time } from "../../ui/index.ts";

/** When the run was accepted, started and ended. */
export function Timeline({ run }: { run: Run }) {
  const { createdAt, startedAt, endedAt, status } = run;
  return (
    <ol className="timeline">
      <TimelineEntry name="Accepted" at={createdAt} />
      <TimelineEntry
        name="Tool started"
        at={startedAt}
        after={elapsed(createdAt, startedAt)}
        missing="never"
      />
      {status === RunStatus.ACTIVE ? (
        <li className="is-open">
          <span className="timeline-name">Running</span>
          <span className="faint">ends when the tool returns</span>
        </li>
      ) : (
        <TimelineEntry name="Ended" at={endedAt} after={elapsed(startedAt ?? createdAt, endedAt)} />
      )}
    </ol>
  );
}

function TimelineEntry({
  name,
  at,
  after,
  missing = "not recorded",
}: {
  name: string;
  at: Timestamp | undefined;
  after?: string | undefined;
  missing?: string;
}) {
  return (
    <li className={at === undefined ? "is-missing" : undefined}>
      <span className="timeline-name">{name}</span>
      <Time at={at} none={missing} />
      {after !== undefined && <span className="timeline-after">after {after}</span>}
    </li>
  );
}

function elapsed(from: Timestamp | undefined, to: Timestamp | undefined): string | undefined {
  if (from === undefined || to === undefined) return undefined;
  return formatDuration(Math.max(0, timestampMs(to) - timestampMs(from)));
}
