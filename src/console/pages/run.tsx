import { useQuery } from "@connectrpc/connect-query";
import { Link, useParams } from "wouter";
import { HistoryService, type GetRunResponse } from "#gen/toolgate/console/v1/history_service_pb.ts";
import { RunStatus, type Run } from "#gen/toolgate/v1/run_pb.ts";
import { ButtonLink, Card, Columns, Copyable, Facts, Money, Note, Page, Status } from "../ui/index.ts";
import { KeyName } from "./key-name.tsx";
import { QueryResult } from "./query-result.tsx";
import { errorMeaning } from "./run/error-meaning.ts";
import { ResultCard } from "./run/result-card.tsx";
import { Timeline } from "./run/timeline.tsx";
import { runStatusLabel } from "./status-labels.ts";
import "./run/run.css";

/** A run: timeline, cost, error and result. */
export function RunPage() {
  const { id } = useParams<{ id: string }>();
  const query = useQuery(
    HistoryService.method.getRun,
    { runId: id },
    { refetchInterval: ({ state }) => (state.data?.run?.status === RunStatus.ACTIVE ? 2_000 : false) },
  );
  return (
    <Page
      title="Run"
      lead={<Copyable text={id} label="run id" />}
      actions={<ButtonLink href="/activity?tab=runs">All runs</ButtonLink>}
    >
      <QueryResult query={query} lines={8} height={24} box>
        {(data) => data.run && <RunDetails answer={data} run={data.run} />}
      </QueryResult>
    </Page>
  );
}

function RunDetails({ answer, run }: { answer: GetRunResponse; run: Run }) {
  return (
    <>
      {run.error && (
        <Note tone="bad" title={<code>{run.error.code}</code>}>
          <p className="run-message">{run.error.message}</p>
          <p>{errorMeaning(run.error.code)}</p>
        </Note>
      )}
      <Columns>
        <CallCard answer={answer} run={run} />
        <Card title="Timeline" note="UTC">
          <Timeline run={run} />
        </Card>
      </Columns>
      <ResultCard status={run.status} result={answer.result} />
    </>
  );
}

function CallCard({ answer: { keyId, keyName, idempotencyKey }, run }: { answer: GetRunResponse; run: Run }) {
  const { text, kind } = runStatusLabel(run.status);
  return (
    <Card title="Call">
      <Facts
        facts={[
          ["Tool", run.tool],
          [
            "Status",
            <Status key="status" kind={kind}>
              {text}
            </Status>,
          ],
          ["Cost", <Cost key="cost" run={run} />],
          ["Key", <KeyName key="key" keyId={keyId} name={keyName} />],
          [
            "Idempotency key",
            idempotencyKey === undefined ? (
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

function Cost({ run: { receiptId, spentUsdcMicrousd, status } }: { run: Run }) {
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
      <Link href={`/receipts/${receiptId}`}>Receipt</Link>
    </span>
  );
}
