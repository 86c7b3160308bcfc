import { formatDuration } from "../../format.ts";
import { Button, Card, Status, Table, Time, type Column } from "../../ui/index.ts";
import { statusKind } from "./exchange-view.tsx";
import type { CallRecord } from "./use-playground-call.ts";

/** Calls since the page was loaded, newest first. */
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
    { head: "Status", cell: ({ lastExchange }) => <ResponseStatus status={lastExchange?.response.status} /> },
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

function ResponseStatus({ status }: { status: number | undefined }) {
  return status === undefined ? (
    <Status kind="bad">No response</Status>
  ) : (
    <Status kind={statusKind(status)}>{status}</Status>
  );
}
