import type { JsonObject } from "@bufbuild/protobuf";
import { Card, EmptyState, Table, type Column } from "../../ui/index.ts";
import { schemaRows, type SchemaRow } from "./schema-rows.ts";

const COLUMNS: readonly Column<SchemaRow>[] = [
  { head: "Name", cell: ({ path }) => <code className="tool-name">{path}</code> },
  { head: "Type", cell: ({ type }) => type },
  { head: "Required", cell: ({ required }) => (required ? "yes" : "no") },
  { head: "Limits", cell: ({ limits }) => limits },
  { head: "Description", cell: ({ description }) => description },
];

/** The parameters of a tool as a table. */
export function SchemaCard({ schema }: { schema: JsonObject | undefined }) {
  return (
    <Card title="Parameters" flush>
      <Table
        caption="Parameters"
        columns={COLUMNS}
        rows={schemaRows(schema)}
        rowKey={({ path }) => path}
        empty={<EmptyState title="No parameters">This tool takes no parameters.</EmptyState>}
      />
    </Card>
  );
}
