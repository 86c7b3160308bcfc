import type { EndpointStatus } from "#gen/toolgate/v1/operations_service_pb.ts";
import { formatCount } from "../../format.ts";
import { Card, EmptyState, Status, Table, type Column } from "../../ui/index.ts";

const COLUMNS: readonly Column<EndpointStatus>[] = [
  { head: "Endpoint", cell: ({ host, problem }) => <Endpoint host={host} problem={problem} /> },
  {
    head: "State",
    cell: ({ healthy }) =>
      healthy ? <Status kind="ok">Healthy</Status> : <Status kind="bad">Unreachable</Status>,
  },
  { head: "Slot", align: "end", cell: ({ slot }) => (slot === undefined ? "—" : formatCount(slot)) },
  {
    head: "Behind",
    align: "end",
    cell: ({ slotsBehind }) => (slotsBehind === undefined ? "—" : formatCount(slotsBehind)),
  },
  {
    head: "Latency",
    align: "end",
    cell: ({ latencyMs }) => (latencyMs === undefined ? "—" : `${latencyMs} ms`),
  },
];

/** The RPC endpoints in order of preference. */
export function ChainCard({ endpoints }: { endpoints: readonly EndpointStatus[] }) {
  return (
    <Card title="Chain" note="in order of preference" flush>
      <Table
        caption="RPC endpoints"
        columns={COLUMNS}
        rows={endpoints}
        rowKey={({ host }) => `${host}#${endpoints.findIndex((one) => one.host === host)}`}
        empty={<EmptyState title="No endpoints configured" />}
      />
    </Card>
  );
}

function Endpoint({ host, problem }: { host: string; problem: string }) {
  return (
    <div className="lines">
      <code>{host}</code>
      {problem !== "" && <span className="hint hint-bad">{problem}</span>}
    </div>
  );
}
