import { useQuery } from "@connectrpc/connect-query";
import { Link, useParams, useSearchParams } from "wouter";
import { HistoryService, type GetRunResponse } from "#gen/toolgate/console/v1/history_service_pb.ts";
import { RunStatus, type Run } from "#gen/toolgate/v1/run_pb.ts";
import { ButtonLink, Card, Columns, Copyable, Facts, Money, Note, Page, Code, Time } from "../ui/index.ts";
import { KeyName, listHref, Outcome, recordHref } from "./activity/call.tsx";
import { QueryResult } from "./query-result.tsx";
import { errorMeaning } from "./status-labels.ts";
import "./run/run.css";
import type { JsonObject } from "@bufbuild/protobuf";
import { ExecutionOutput } from "./run/execution-output.tsx";
import { executionOf } from "./run/execution.ts";
import { timestampMs, type Timestamp } from "@bufbuild/protobuf/wkt";
import { formatDuration } from "../format.ts";

export function RunPage() {
  const { id } = useParams<{ id: string }>();
  const accountId = useSearchParams()[0].get("account") ?? undefined;
  const query = useQuery(
    HistoryService.method.getRun,
    { runId: id, accountId: accountId ?? "" },
    { refetchInterval: ({ state }) => (state.data?.run?.status === RunStatus.ACTIVE ? 2_000 : false) },
  );
  return (
    <Page
      title="Run"
      lead={<Copyable text={id} label="run id" />}
      actions={<ButtonLink href={listHref("runs", accountId)}>All runs</ButtonLink>}
    >
      <QueryResult query={query} lines={8} height={24} box>
        {(data) => data.run && <RunDetails answer={data} run={data.run} accountId={accountId} />}
      </QueryResult>
    </Page>
  );
}

interface RunDetailsProps {
  answer: GetRunResponse;
  run: Run;
  /** Account of the run; the reader's own if undefined. */
  accountId: string | undefined;
}

function RunDetails({ answer, run, accountId }: RunDetailsProps) {
  return (
    <>
      {run.error && (
        <Note tone="bad" title={<code>{run.error.code}</code>}>
          <p className="run-message">{run.error.message}</p>
          <p>{errorMeaning(run.error.code)}</p>
        </Note>
      )}
      <Columns>
        <CallCard answer={answer} run={run} accountId={accountId} />
        <Card title="Timeline" note="UTC">
          <Timeline run={run} />
        </Card>
      </Columns>
      {accountId === undefined && <ResultCard tool={run.tool} status={run.status} result={answer.result} />}
    </>
  );
}

function CallCard({ answer, run, accountId }: RunDetailsProps) {
  const { keyId, keyName, idempotencyKey } = answer;
  return (
    <Card title="Call">
      <Facts
        facts={[
          ["Tool", run.tool],
          ["Model", run.model],
          ["Status", <Outcome key="status" call={answer} />],
          ["Quoted", <Money key="quoted" microUsd={run.quotedUsdcMicrousd} />],
          ["Charged", <Charge key="charged" run={run} accountId={accountId} />],
          ["Key", <KeyName key="key" keyId={keyId} name={keyName} own={accountId === undefined} />],
          [
            "Idempotency key",
            accountId !== undefined ? undefined : idempotencyKey === undefined ? (
              <span key="none" className="faint">
                none
              </span>
            ) : (
              <Copyable key="idempotency" text={idempotencyKey} label="idempotency key" />
            ),
          ],
        ]}
      />
    </Card>
  );
}

function Charge({
  run: { receiptId, spentUsdcMicrousd, status },
  accountId,
}: Pick<RunDetailsProps, "run" | "accountId">) {
  if (receiptId === undefined) {
    return status === RunStatus.ACTIVE ? (
      <span className="faint">not known yet</span>
    ) : (
      <span>not charged</span>
    );
  }
  return (
    <span className="row">
      <Money microUsd={spentUsdcMicrousd} strong />
      <Link href={recordHref("receipts", receiptId, accountId)}>Receipt</Link>
    </span>
  );
}

/** Longer results are collapsed, characters. */
const MAX_OPEN_LENGTH = 4_000;

function ResultCard({
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

function Timeline({ run }: { run: Run }) {
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

interface TimelineEntryProps {
  name: string;
  at: Timestamp | undefined;
  after?: string | undefined;
  missing?: string;
}

function TimelineEntry({ name, at, after, missing = "not recorded" }: TimelineEntryProps) {
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
