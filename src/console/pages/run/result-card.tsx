import type { JsonObject } from "@bufbuild/protobuf";
import { RunStatus } from "#gen/toolgate/v1/run_pb.ts";
import { Card, Code } from "../../ui/index.ts";
import { ExecutionOutput } from "./execution-output.tsx";
import { executionOf } from "./execution.ts";

/** Longer results are collapsed, characters. */
const MAX_OPEN_LENGTH = 4_000;

/** The stored result of a run. */
export function ResultCard({
  tool,
  status,
  result,
}: {
  tool: string;
  status: RunStatus;
  result: JsonObject | undefined;
}) {
  if (status !== RunStatus.COMPLETED) return null;
  if (result === undefined) {
    return (
      <Card title="Result">
        <p className="soft">
          Not stored. Results are stored only for calls with an idempotency key or a payment, so that retries
          return them.
        </p>
      </Card>
    );
  }
  const execution = executionOf(tool, result);
  if (execution) {
    return (
      <Card title="Result">
        <ExecutionOutput execution={execution} />
      </Card>
    );
  }
  const text = JSON.stringify(result, undefined, 2);
  return (
    <Card title="Result">
      <details className="result" open={text.length <= MAX_OPEN_LENGTH}>
        <summary>JSON, {text.split("\n").length} lines</summary>
        <Code text={text} label="result as JSON" />
      </details>
    </Card>
  );
}
