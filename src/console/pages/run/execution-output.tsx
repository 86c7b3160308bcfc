import { formatDuration } from "../../format.ts";
import { Code } from "../../ui/index.ts";
import { Outcome } from "../activity/call.tsx";
import type { Execution } from "./execution.ts";
import "./run.css";

export function ExecutionOutput({ execution }: { execution: Execution }) {
  const { stdout, stderr, error, value, isTruncated, exitCode, durationMs } = execution;
  const texts: readonly (readonly [title: string, text: string])[] = [
    ["Error", error ?? ""],
    ["Value", value === undefined ? "" : JSON.stringify(value, undefined, 2)],
    ["Output (stdout)", stdout],
    ["Error output (stderr)", stderr],
  ];
  const shown = texts.filter(([, text]) => text !== "");
  return (
    <div className="execution">
      <p className="row">
        <Outcome call={execution} />
        {exitCode !== undefined && <span className="faint">exit code {exitCode}</span>}
        {durationMs !== undefined && <span className="faint">{formatDuration(durationMs)}</span>}
      </p>
      {shown.length === 0 && <p className="soft">The code wrote no output.</p>}
      {shown.map(([title, text]) => (
        <div key={title}>
          <h3>{title}</h3>
          <Code text={text} label={title.toLowerCase()} wrap />
        </div>
      ))}
      {isTruncated && <p className="hint">The output exceeded its limit and was cut.</p>}
    </div>
  );
}
