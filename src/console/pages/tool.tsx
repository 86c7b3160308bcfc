import { useState } from "react";
import { useParams, useSearchParams, Link } from "wouter";
import { ToolStatus, type Tool } from "#gen/toolgate/v1/tool_pb.ts";
import { useCatalogue } from "../rpc.ts";
import { useOptionalSignedIn } from "../session.tsx";
import { ButtonLink, Card, Code, Columns, EmptyState, Page, Tabs, Table, type Column } from "../ui/index.ts";
import { exampleFor } from "./playground/examples.ts";
import { fieldsFromSchema, paramsFromTexts } from "./playground/schema.ts";
import { PlaygroundLink, SnippetCard } from "./tools/snippet-card.tsx";
import { QueryResult } from "./query-result.tsx";
import { modelsOf, type Model, toolHref } from "./tools/models.ts";
import { PriceCard, type TypedCall } from "./tools/price-card.tsx";
import "./playground/playground.css";
import "./tools/tools.css";
import { mcpHosts } from "./tools/mcp-hosts.ts";
import type { JsonObject } from "@bufbuild/protobuf";
import { schemaRows, type SchemaRow } from "./tools/schema-rows.ts";

export function ToolPage() {
  const { name } = useParams<{ name: string }>();
  const model = useSearchParams()[0].get("model") ?? undefined;
  const catalogue = useCatalogue();
  const tool = catalogue.data?.tools.find((one) => one.name === name);
  if (tool) return <ToolDetails key={`${name} ${model}`} tool={tool} model={model} />;
  return (
    <Page title={name}>
      <QueryResult query={catalogue} lines={8} box>
        {() => (
          <EmptyState
            title="There is no such tool"
            action={<ButtonLink href="/tools">Show all tools</ButtonLink>}
          >
            It may have been removed from the catalogue.
          </EmptyState>
        )}
      </QueryResult>
    </Page>
  );
}

function ToolDetails({ tool, model }: { tool: Tool; model: string | undefined }) {
  const { name, description, inputSchema, status, unavailableReason } = tool;
  const signedIn = useOptionalSignedIn();
  // Strangers load the page from where agents call.
  const baseUrl = signedIn?.installation.baseUrl ?? location.origin;
  const typed = useTypedCall(tool, model);
  const call = { tool: name, params: typed.params };
  const terms = modelsOf(inputSchema).find(({ id }) => id === model)?.terms;
  const isActive = status === ToolStatus.ACTIVE;
  return (
    <Page
      title={model === undefined ? name : `${name}: ${model}`}
      lead={description}
      actions={isActive && <PlaygroundLink tool={name} texts={typed.texts} />}
    >
      {unavailableReason !== undefined && (
        <Card title="Not available">It cannot be called: {unavailableReason}.</Card>
      )}
      {terms !== undefined && terms !== "" && <Card title="Model">{terms}</Card>}
      {isActive && (
        <Columns>
          <div className="stack play-side">
            <PriceCard tool={tool} call={typed} />
            <Card title="Example">
              <Code text={JSON.stringify(typed.params, undefined, 2)} label="example parameters" />
            </Card>
          </div>
          <div className="stack play-side">
            <SnippetCard baseUrl={baseUrl} call={call} />
            <McpHostCard baseUrl={baseUrl} />
          </div>
        </Columns>
      )}
      {model === undefined && <ModelTable tool={tool} />}
      <SchemaCard schema={inputSchema} />
    </Page>
  );
}

/** The tool's example, with the model of the page, until it is edited. */
function useTypedCall({ name, inputSchema }: Tool, model: string | undefined): TypedCall {
  const fields = fieldsFromSchema(inputSchema);
  const [texts, setTexts] = useState(() => ({
    ...exampleFor(name, inputSchema),
    ...(model !== undefined && { model }),
  }));
  return { fields, texts, setTexts, ...paramsFromTexts(fields, texts) };
}

function McpHostCard({ baseUrl }: { baseUrl: string }) {
  const hosts = mcpHosts(baseUrl);
  const [selected, setSelected] = useState("claude");
  const host = hosts.find(({ id }) => id === selected);
  if (!host) return null;
  return (
    <Card title="Add to an MCP host" note="All tools of the gateway">
      <Tabs label="MCP host" tabs={hosts} current={selected} onChange={setSelected}>
        {host.link !== undefined && (
          <div>
            <a className="button button-plain" href={host.link}>
              Add to {host.label}
            </a>
          </div>
        )}
        <Code text={host.text} label={`${host.label} configuration`} />
        <p className="hint">{host.hint}</p>
      </Tabs>
    </Card>
  );
}

function ModelTable({ tool }: { tool: Tool }) {
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

const COLUMNS: readonly Column<SchemaRow>[] = [
  { head: "Name", cell: ({ path }) => <code className="tool-name">{path}</code> },
  { head: "Type", cell: ({ type }) => type },
  { head: "Required", cell: ({ required }) => (required ? "yes" : "no") },
  { head: "Limits", cell: ({ limits }) => limits },
  { head: "Description", cell: ({ description }) => description },
];

function SchemaCard({ schema }: { schema: JsonObject | undefined }) {
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
