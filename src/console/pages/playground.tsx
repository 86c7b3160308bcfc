import { useState, type FormEvent } from "react";
import { useSearchParams } from "wouter";
import { ToolStatus, type Tool } from "#gen/toolgate/v1/tool_pb.ts";
import { useCatalogue } from "../catalogue.ts";
import { formatUsd } from "../format.ts";
import { Button, Card, EmptyState, Field, Page, Select } from "../ui/index.ts";
import { Loaded } from "./query-result.tsx";
import { CopyAs } from "./playground/copy-as.tsx";
import { exampleOf } from "./playground/examples.ts";
import { KeyCard } from "./playground/key-card.tsx";
import { ParamsForm } from "./playground/params-form.tsx";
import type { PlayCall } from "./playground/tool-call.ts";
import { PlayView } from "./playground/call-view.tsx";
import { usePlaygroundKey } from "./playground/playground-key.ts";
import { fieldsOf, paramsOf } from "./playground/schema.ts";
import { usePlay } from "./playground/use-playground-call.ts";
import { Visit } from "./playground/call-history-card.tsx";
import "./playground/playground.css";

/** Where a person makes the calls that agents make, and sees each step of them. */
export function PlaygroundPage() {
  const catalogue = useCatalogue();
  return (
    <Page
      title="Playground"
      lead="Real calls of real tools. The balance pays first, where it covers the price; where it does not, the gateway answers 402 with a quote, and your wallet pays this one call."
    >
      <Loaded asked={catalogue} lines={6} box>
        {({ tools }) => <Ground tools={tools.filter(({ status }) => status === ToolStatus.ACTIVE)} />}
      </Loaded>
    </Page>
  );
}

function Ground({ tools }: { tools: readonly Tool[] }) {
  const [search, setSearch] = useSearchParams();
  const { play, history, run, pay, again, show } = usePlay();
  const { key } = usePlaygroundKey();
  const tool =
    tools.find(({ name }) => name === search.get("tool")) ??
    tools.find(({ billable }) => billable) ??
    tools[0];
  if (!tool) {
    return (
      <Card>
        <EmptyState title="No tool can be called here">
          The operator of this gateway offers none at present.
        </EmptyState>
      </Card>
    );
  }
  return (
    <>
      <div className="columns columns-two">
        <div className="stack play-side">
          <KeyCard />
          <CallCard
            // Another tool is another form.
            key={tool.name}
            tool={tool}
            tools={tools}
            ready={key !== undefined}
            busy={play?.doing !== undefined}
            onTool={(name) => setSearch({ tool: name }, { replace: true })}
            onRun={(call) => key && run(call, key.secret)}
          />
        </div>
        <div className="stack play-side">
          {play ? (
            <PlayView
              play={play}
              onPay={(offer, wallet) => void pay(play, offer, wallet)}
              onAgain={() => again(play)}
              onNewQuote={() => key && run(play.call, key.secret)}
            />
          ) : (
            <Card>
              <EmptyState title="Nothing was called yet">
                Request, answer, payment and result will be here, step by step.
              </EmptyState>
            </Card>
          )}
        </div>
      </div>
      <Visit plays={history} onShow={show} />
    </>
  );
}

function CallCard({
  tool,
  tools,
  ready,
  busy,
  onTool,
  onRun,
}: {
  tool: Tool;
  tools: readonly Tool[];
  ready: boolean;
  busy: boolean;
  onTool: (name: string) => void;
  onRun: (call: PlayCall) => void;
}) {
  const fields = fieldsOf(tool.inputSchema);
  const [texts, setTexts] = useState(() => exampleOf(tool.name, tool.inputSchema));
  const [told, setTold] = useState(false);
  const { params, faults } = paramsOf(fields, texts);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTold(true);
    if (ready && Object.keys(faults).length === 0) onRun({ tool: tool.name, params });
  };
  return (
    <Card title="Call">
      <form className="stack" onSubmit={submit} noValidate>
        <Field label="Tool" hint={tool.description}>
          {(control) => (
            <Select
              {...control}
              value={tool.name}
              options={tools.map((one) => ({ value: one.name, label: `${one.name} · ${priceOf(one)}` }))}
              onChange={({ target }) => onTool(target.value)}
            />
          )}
        </Field>
        <ParamsForm fields={fields} texts={texts} faults={told ? faults : {}} onChange={setTexts} />
        <div className="row">
          <Button type="submit" tone="primary" icon="play" busy={busy} disabled={!ready}>
            Run
          </Button>
          {!ready && <span className="hint">It needs an API key: make or paste one above.</span>}
        </div>
      </form>
      <CopyAs call={{ tool: tool.name, params }} />
    </Card>
  );
}

function priceOf({ billable, price }: Tool): string {
  if (!billable) return "free";
  return price ? formatUsd(price.priceUsdcMicrousd) : "priced by the call";
}
