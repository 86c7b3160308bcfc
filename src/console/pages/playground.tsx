import { useState, type FormEvent, useCallback } from "react";
import { useSearchParams } from "wouter";
import { ToolStatus, type Tool } from "#gen/toolgate/v1/tool_pb.ts";
import { useCatalogue } from "../rpc.ts";
import { formatUsd } from "../format.ts";
import { useBlockedHint, useSignedIn } from "../session.tsx";
import { Button, Card, EmptyState, focusInvalidField, Page, Code, Tabs, SelectField } from "../ui/index.ts";
import { QueryResult } from "./query-result.tsx";
import { KeyCard } from "./playground/key-card.tsx";
import { ParamsForm } from "./playground/params-form.tsx";
import type { ToolCall } from "./playground/tool-call.ts";
import { CallView } from "./playground/call-view.tsx";
import { usePlaygroundKey } from "./playground/playground-key.ts";
import { fieldsFromSchema, paramsFromTexts, asObject, asText, type ParamTexts } from "./playground/schema.ts";
import { PriceHint } from "./playground/price-hint.tsx";
import { usePlaygroundCall } from "./playground/use-playground-call.ts";
import { CallHistoryCard } from "./playground/call-history-card.tsx";
import "./playground/playground.css";
import { curlSnippet, mcpSnippet, typescriptSnippet } from "./playground/snippets.ts";
import { exampleFor } from "./playground/examples.ts";
import { FORM, readFromTab, writeToTab } from "./playground/tab-storage.ts";

export function PlaygroundPage() {
  const catalogue = useCatalogue();
  return (
    <Page
      title="Playground"
      lead="Make real tool calls. If your balance does not cover a call, your wallet can pay its 402 quote."
    >
      <QueryResult query={catalogue} lines={6} box>
        {({ tools }) => <PlaygroundForm tools={tools.filter(({ status }) => status === ToolStatus.ACTIVE)} />}
      </QueryResult>
    </Page>
  );
}

function PlaygroundForm({ tools }: { tools: readonly Tool[] }) {
  const [search, setSearch] = useSearchParams();
  const { record, history, run, pay, again, stop, show } = usePlaygroundCall();
  const { key } = usePlaygroundKey();
  const start = (call: ToolCall) => key && run(call, key.secret, key.expiresAt !== undefined);
  // The navigation's link names no tool: the one of the last call then.
  const [lastTool] = useState(record?.call.tool);
  const selected = search.get("tool") ?? lastTool;
  const tool =
    tools.find(({ name }) => name === selected) ?? tools.find(({ billable }) => billable) ?? tools[0];
  if (!tool) {
    return (
      <Card>
        <EmptyState title="No tools available">This gateway offers no active tools.</EmptyState>
      </Card>
    );
  }
  return (
    <>
      <div className="columns columns-two">
        <div className="stack play-side">
          <KeyCard />
          <CallCard
            // A new tool needs a new form.
            key={tool.name}
            tool={tool}
            tools={tools}
            secret={key?.secret}
            calls={history.length}
            busy={record?.progress !== undefined}
            onTool={(name) => setSearch({ tool: name }, { replace: true })}
            onRun={start}
          />
        </div>
        <div className="stack play-side">
          {record && (record.progress !== undefined || record.call.tool === tool.name) ? (
            <CallView
              record={record}
              onPay={(quote, wallet) => void pay(record, quote, wallet)}
              hasKey={key !== undefined}
              onAgain={() => key && again({ ...record, key: record.key === "" ? key.secret : record.key })}
              onStop={() => void stop(record)}
              onNewQuote={() => start(record.call)}
            />
          ) : (
            <Card>
              <EmptyState title="No calls yet">
                Request, response, payment and result appear here step by step.
              </EmptyState>
            </Card>
          )}
        </div>
      </div>
      <CallHistoryCard
        records={history}
        onShow={(one) => {
          show(one);
          setSearch({ tool: one.call.tool }, { replace: true });
        }}
      />
    </>
  );
}

interface CallCardProps {
  tool: Tool;
  tools: readonly Tool[];
  /** Of the API key in use. */
  secret: string | undefined;
  /** Calls so far: each may change the balance. */
  calls: number;
  busy: boolean;
  onTool: (name: string) => void;
  onRun: (call: ToolCall) => void;
}

function CallCard({ tool, tools, secret, calls, busy, onTool, onRun }: CallCardProps) {
  const fields = fieldsFromSchema(tool.inputSchema);
  const [texts, setTexts] = useFormTexts(tool);
  const [submitted, setSubmitted] = useState(false);
  const blockedHint = useBlockedHint();
  const { params, fieldErrors } = paramsFromTexts(fields, texts);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setSubmitted(true);
    focusInvalidField(event.currentTarget);
    if (secret !== undefined && Object.keys(fieldErrors).length === 0) onRun({ tool: tool.name, params });
  };
  return (
    <Card title="Call">
      <form className="stack" onSubmit={submit} noValidate>
        <SelectField
          label="Tool"
          hint={tool.description}
          value={tool.name}
          options={tools.map((one) => ({ value: one.name, label: `${one.name} · ${priceLabel(one)}` }))}
          onChange={({ target }) => onTool(target.value)}
        />
        <ParamsForm
          fields={fields}
          texts={texts}
          fieldErrors={submitted ? fieldErrors : {}}
          onChange={setTexts}
        />
        <div className="row">
          <Button
            type="submit"
            tone="primary"
            icon="play"
            busy={busy}
            disabled={secret === undefined || blockedHint !== undefined}
          >
            Run
          </Button>
          {secret !== undefined && blockedHint !== undefined && <span className="hint">{blockedHint}</span>}
          <PriceHint
            tool={tool}
            secret={secret}
            params={Object.keys(fieldErrors).length === 0 ? params : undefined}
            calls={calls}
          />
        </div>
        {secret === undefined && <p className="hint">Create or select an API key first.</p>}
      </form>
      <CopyAs call={{ tool: tool.name, params }} />
    </Card>
  );
}

function priceLabel({ billable, price }: Tool): string {
  if (!billable) return "free";
  return price ? formatUsd(price.priceUsdcMicrousd) : "variable price";
}

const TABS = [
  { id: "curl", label: "curl" },
  { id: "mcp", label: "MCP config" },
  { id: "typescript", label: "TypeScript" },
] as const;

function CopyAs({ call }: { call: ToolCall }) {
  const { baseUrl } = useSignedIn().installation;
  const [tab, setTab] = useState<(typeof TABS)[number]["id"]>("curl");
  const text = {
    curl: curlSnippet(baseUrl, call),
    mcp: mcpSnippet(baseUrl),
    typescript: typescriptSnippet(baseUrl, call),
  }[tab];
  const label = { curl: "curl command", mcp: "MCP configuration", typescript: "TypeScript program" }[tab];
  return (
    <Tabs label="Copy as" tabs={TABS} current={tab} onChange={setTab}>
      <Code text={text} label={label} />
      <p className="hint">
        {tab === "mcp"
          ? "For MCP clients that expand environment variables; others need the key itself.  "
          : ""}
        The key is read from <code>TOOLGATE_API_KEY</code>.
      </p>
    </Tabs>
  );
}

/** The texts of a tool's form: the edited ones of this tab, otherwise the tool's example. */
function useFormTexts({ name, inputSchema }: Tool): [ParamTexts, (texts: ParamTexts) => void] {
  const { accountId } = useSignedIn().session;
  const [texts, setTexts] = useState<ParamTexts>(() => {
    const stored = readFromTab(`${FORM}${name}`, accountId);
    if (stored === undefined) return exampleFor(name, inputSchema);
    return Object.fromEntries(Object.entries(asObject(stored)).map(([field, text]) => [field, asText(text)]));
  });
  const change = useCallback(
    (next: ParamTexts) => {
      setTexts(next);
      writeToTab(`${FORM}${name}`, accountId, next);
    },
    [name, accountId],
  );
  return [texts, change];
}
