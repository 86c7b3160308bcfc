import { useQuery } from "@connectrpc/connect-query";
import { Link, useParams, useSearchParams } from "wouter";
import { HistoryService, type GetRunResponse } from "#gen/toolgate/console/v1/history_service_pb.ts";
import { RunStatus, type Run } from "#gen/toolgate/v1/run_pb.ts";
import { ButtonLink, Card, Columns, Copyable, Facts, Money, Note, Page } from "../ui/index.ts";
import { KeyName } from "./key-name.tsx";
import { listHref, Outcome, recordHref } from "./activity/call.tsx";
import { QueryResult } from "./query-result.tsx";
import { errorMeaning } from "./run/error-meaning.ts";
import { ResultCard } from "./run/result-card.tsx";
import { Timeline } from "./run/timeline.tsx";
import "./run/run.css";

/** A run: timeline, cost, error and result. */
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
