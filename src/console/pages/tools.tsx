import { Link } from "wouter";
import { ToolStatus, type Tool } from "#gen/toolgate/v1/tool_pb.ts";
import { useCatalogue } from "../rpc.ts";
import { Card, EmptyState, Page, Status, Table, type Column } from "../ui/index.ts";
import { QueryResult } from "./query-result.tsx";
import { priceLabel, toolHref } from "./tools/models.ts";
import "./tools/tools.css";

const COLUMNS: readonly Column<Tool>[] = [
  {
    head: "Tool",
    cell: ({ name }) => (
      <Link className="row-link tool-name" href={toolHref(name)}>
        {name}
      </Link>
    ),
  },
  { head: "Price", cell: (tool) => (tool.status === ToolStatus.ACTIVE ? priceLabel(tool) : "—") },
  { head: "Status", cell: (tool) => <ToolState {...tool} /> },
  { head: "Description", cell: ({ description }) => description },
];

export function ToolsPage() {
  const catalogue = useCatalogue();
  return (
    <Page title="Tools and prices" lead="Everything that an agent can call, and what a call costs.">
      <QueryResult query={catalogue} lines={8} box>
        {({ tools }) => (
          <Card flush>
            <Table
              caption="Tools"
              columns={COLUMNS}
              rows={tools}
              rowKey={({ name }) => name}
              dim={({ status }) => status !== ToolStatus.ACTIVE}
              empty={<EmptyState title="No tools">This gateway offers no tools.</EmptyState>}
            />
          </Card>
        )}
      </QueryResult>
    </Page>
  );
}

function ToolState({ status, unavailableReason }: Pick<Tool, "status" | "unavailableReason">) {
  if (status === ToolStatus.ACTIVE) return <Status kind="ok">Active</Status>;
  return unavailableReason === undefined ? (
    <Status kind="off">Coming soon</Status>
  ) : (
    <Status kind="bad">Not available</Status>
  );
}
