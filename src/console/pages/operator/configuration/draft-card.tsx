import { useMutation } from "@connectrpc/connect-query";
import { OperationsService, type PlanConfigResponse } from "#gen/toolgate/v1/operations_service_pb.ts";
import { useState } from "react";
import {
  ActionDialog,
  Button,
  Card,
  ErrorNote,
  Checkbox,
  Code,
  TextField,
  SelectField,
  TextareaField,
} from "../../../ui/index.ts";
import { formatDocument, jsonError, toolsOf, type Draft } from "./draft.ts";
import { PlanResult } from "./plan-result.tsx";
import { showApplied } from "./show-applied.ts";
import { formatUsd } from "../../../format.ts";

/** Edits a draft, compares it with the version in force, tries its tools and publishes it. */
export function DraftCard({
  draft,
  onChange,
  onDone,
}: {
  draft: Draft;
  onChange: (draft: Draft) => void;
  /** The draft was published or discarded. */
  onDone: () => void;
}) {
  const { text } = draft;
  const [compared, setCompared] = useState("");
  const [discarding, setDiscarding] = useState(false);
  const plan = useMutation(OperationsService.method.planConfig);
  const problem = jsonError(text);
  const isCurrent = plan.data !== undefined && compared === text;
  const compare = () => {
    setCompared(text);
    plan.mutate({ document: text });
  };
  return (
    <>
      <Card
        title="Draft"
        actions={
          <>
            <Button onClick={() => onChange({ text: formatDocument(text) })} disabled={problem !== undefined}>
              Format
            </Button>
            <Button tone="danger" onClick={() => setDiscarding(true)}>
              Discard
            </Button>
          </>
        }
      >
        <TextareaField
          label="Document (JSON)"
          hint="As config show prints it. Keys and headers are names of variables, never their values."
          error={problem}
          className="draft-text"
          rows={18}
          value={text}
          onChange={({ target }) => onChange({ text: target.value })}
        />
        <div className="actions">
          <Button tone="primary" busy={plan.isPending} disabled={problem !== undefined} onClick={compare}>
            Compare with the version in force
          </Button>
        </div>
        <ErrorNote error={compared === text ? plan.error : undefined} />
        {isCurrent && <PlanResult plan={plan.data} />}
        {isCurrent && plan.data.changes.length > 0 && (
          <PublishForm document={text} plan={plan.data} onPublished={onDone} />
        )}
      </Card>
      <TryCard document={text} tools={toolsOf(text)} />
      <ActionDialog
        open={discarding}
        title="Discard this draft?"
        onClose={() => setDiscarding(false)}
        action="Discard draft"
        tone="danger"
        onAction={onDone}
      >
        <p>It is stored in this browser only. This cannot be undone.</p>
      </ActionDialog>
    </>
  );
}

/** Publishes exactly what was compared, unless another version is in force by then. */
function PublishForm({
  document,
  plan,
  onPublished,
}: {
  document: string;
  plan: PlanConfigResponse;
  onPublished: () => void;
}) {
  const [note, setNote] = useState("");
  const [accepted, setAccepted] = useState(false);
  const isBreaking = plan.changes.some(({ affectsCallers }) => affectsCallers);
  const { mutate, error, isPending } = useMutation(OperationsService.method.applyConfig, {
    onSuccess: async (applied) => {
      await showApplied(applied);
      onPublished();
    },
  });
  return (
    <form
      className="plan"
      onSubmit={(event) => {
        event.preventDefault();
        mutate({ document, expectedVersion: plan.version, note });
      }}
    >
      <TextField
        label="Note"
        hint="Why, for the history"
        optional
        maxLength={500}
        value={note}
        onChange={({ target }) => setNote(target.value)}
      />
      {isBreaking && (
        <Checkbox
          label="Callers may notice these changes"
          hint="Calls can fail or cost more from the next one on. Open quotes keep their price."
          checked={accepted}
          onChange={({ target }) => setAccepted(target.checked)}
        />
      )}
      <ErrorNote error={error} />
      <div className="actions">
        <Button type="submit" tone="primary" busy={isPending} disabled={isBreaking && !accepted}>
          Publish to all instances
        </Button>
      </div>
    </form>
  );
}

/** Calls a custom tool of the draft on its real server; nothing is charged or stored. */
function TryCard({ document, tools }: { document: string; tools: readonly string[] }) {
  const [chosen, setChosen] = useState("");
  const [params, setParams] = useState("{}");
  const { mutate, data, error, isPending } = useMutation(OperationsService.method.tryTool);
  const tool = tools.includes(chosen) ? chosen : (tools[0] ?? "");
  const problem = jsonError(params);
  if (tools.length === 0) return null;
  return (
    <Card title="Try a tool of the draft" note="on its real server; nothing is charged">
      <form
        className="plan"
        onSubmit={(event) => {
          event.preventDefault();
          if (problem === undefined) mutate({ document, tool, params });
        }}
      >
        <SelectField
          label="Tool"
          value={tool}
          options={tools.map((name) => ({ value: name, label: name }))}
          onChange={({ target }) => setChosen(target.value)}
        />
        <TextareaField
          label="Params (JSON)"
          error={problem}
          className="draft-text"
          rows={4}
          value={params}
          onChange={({ target }) => setParams(target.value)}
        />
        <div className="actions">
          <Button type="submit" busy={isPending}>
            Try
          </Button>
        </div>
      </form>
      <ErrorNote error={error} />
      {data && (
        <>
          <p>
            Price {formatUsd(data.priceUsdcMicrousd)}; this call would be charged{" "}
            {formatUsd(data.chargeUsdcMicrousd)}.
          </p>
          <Code text={formatDocument(data.result)} label="result as JSON" bounded />
        </>
      )}
    </Card>
  );
}
