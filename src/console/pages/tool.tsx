import { useState } from "react";
import { useParams, useSearchParams } from "wouter";
import { ToolStatus, type Tool } from "#gen/toolgate/v1/tool_pb.ts";
import { useCatalogue } from "../catalogue.ts";
import { useOptionalSignedIn } from "../session.tsx";
import { ButtonLink, Card, Code, Columns, EmptyState, Page } from "../ui/index.ts";
import { exampleFor } from "./playground/examples.ts";
import { fieldsFromSchema, paramsFromTexts } from "./playground/schema.ts";
import { PlaygroundLink } from "./playground/playground-link.tsx";
import { QueryResult } from "./query-result.tsx";
import { McpHostCard } from "./tools/mcp-host-card.tsx";
import { ModelTable } from "./tools/model-table.tsx";
import { modelsOf } from "./tools/models.ts";
import { PriceCard, type TypedCall } from "./tools/price-card.tsx";
import { SchemaCard } from "./tools/schema-card.tsx";
import { SnippetCard } from "./tools/snippet-card.tsx";
import "./playground/playground.css";
import "./tools/tools.css";

/** A tool, or a model that it sells: price, parameters, and how to call it. */
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
  const { name, description, inputSchema, status } = tool;
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
