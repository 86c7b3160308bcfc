import { formatDuration } from "../../format.ts";
import { Button, Card, Status, Table, Time, type Column } from "../../ui/index.ts";
import { Outcome } from "../activity/call.tsx";
import { executionOf } from "../run/execution.ts";
import { statusKind } from "./exchange-view.tsx";
import { asObject } from "./schema.ts";
import type { CallRecord } from "./tool-call.ts";

export function CallHistoryCard({
  records,
  onShow,
}: {
  records: readonly CallRecord[];
  onShow: (record: CallRecord) => void;
}) {
  if (records.length === 0) return null;
  const columns: readonly Column<CallRecord>[] = [
    {
      head: "Tool",
      cell: (record) => (
        <Button small tone="quiet" className="play-show" onClick={() => onShow(record)}>
          {record.call.tool}
        </Button>
      ),
    },
    { head: "Time", cell: ({ startedAt }) => <Time at={startedAt} relative /> },
    { head: "Status", cell: (record) => <ResponseStatus record={record} /> },
    {
      head: "Duration",
      align: "end",
      cell: ({ lastExchange }) =>
        lastExchange ? formatDuration(lastExchange.response.durationMs) : <span className="faint">—</span>,
    },
  ];
  return (
    <Card title="Call history" note="cleared when the page is closed" flush>
      <Table
        caption="Call history"
        columns={columns}
        rows={records}
        rowKey={({ startedAt }) => startedAt.toISOString()}
        empty={null}
      />
    </Card>
  );
}

function ResponseStatus({ record: { call, lastExchange } }: { record: CallRecord }) {
  if (lastExchange === undefined) return <Status kind="bad">No response</Status>;
  const { status, body } = lastExchange.response;
  const execution = executionOf(call.tool, asObject(asObject(body)["result"]));
  return (
    <span className="row">
      <Status kind={statusKind(status)}>{status}</Status>
      {execution && <Outcome call={execution} />}
    </span>
  );
}
