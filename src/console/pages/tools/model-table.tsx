import { Link } from "wouter";
import type { Tool } from "#gen/toolgate/v1/tool_pb.ts";
import { Card, Table, type Column } from "../../ui/index.ts";
import { modelsOf, type Model } from "./models.ts";
import { toolHref } from "./tool-href.ts";

/** The models that a tool sells, each with a page; nothing for other tools. */
export function ModelTable({ tool }: { tool: Tool }) {
  const models = modelsOf(tool.inputSchema);
  if (models.length === 0) return null;
  const columns: readonly Column<Model>[] = [
    {
      head: "Model",
      cell: ({ id }) => (
        <Link className="row-link tool-name" href={toolHref(tool.name, id)}>
          {id}
        </Link>
      ),
    },
    { head: "Limits and price", cell: ({ terms }) => terms },
  ];
  return (
    <Card title="Models" flush>
      <Table caption="Models" columns={columns} rows={models} rowKey={({ id }) => id} empty={undefined} />
    </Card>
  );
}
