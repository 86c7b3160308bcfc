import { timestampMs, type Timestamp } from "@bufbuild/protobuf/wkt";
import { RunStatus, type Run } from "#gen/toolgate/v1/run_pb.ts";
import { formatDuration } from "../../format.ts";
import { Time } from "../../ui/index.ts";
import { runWord } from "../status-labels.ts";

/** When the run was accepted, started and ended, and what lay between. */
export function Timeline({ run }: { run: Run }) {
  const { createdAt, startedAt, endedAt, status } = run;
  return (
    <ol className="timeline">
      <Moment name="Accepted" at={createdAt} />
      <Moment name="Tool started" at={startedAt} after={between(createdAt, startedAt)} missing="never" />
      {status === RunStatus.ACTIVE ? (
        <li className="is-open">
          <span className="timeline-name">Running</span>
          <span className="faint">ends when the tool answers</span>
        </li>
      ) : (
        <Moment name={endName(status)} at={endedAt} after={between(startedAt ?? createdAt, endedAt)} />
      )}
    </ol>
  );
}

function Moment({
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

function between(from: Timestamp | undefined, to: Timestamp | undefined): string | undefined {
  if (from === undefined || to === undefined) return undefined;
  return formatDuration(Math.max(0, timestampMs(to) - timestampMs(from)));
}

function endName(status: RunStatus): string {
  const { word } = runWord(status);
  return word.charAt(0).toUpperCase() + word.slice(1);
}
