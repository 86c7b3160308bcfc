import { useMutation } from "@connectrpc/connect-query";
import { OperationsService } from "#gen/toolgate/v1/operations_service_pb.ts";
import { useState } from "react";
import { Button, Card, ErrorNote, Field, Textarea } from "../../../ui/index.ts";
import { formatDocument, jsonError, toolsOf, type Draft } from "./draft.ts";
import { PlanResult } from "./plan-result.tsx";
import { PublishForm } from "./publish-form.tsx";
import { TryCard } from "./try-card.tsx";

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
            <Button tone="danger" onClick={onDone}>
              Discard
            </Button>
          </>
        }
      >
        <Field
          label="Document (JSON)"
          hint="As config show prints it. Keys and headers are names of variables, never their values."
          error={problem}
        >
          {(control) => (
            <Textarea
              {...control}
              className="draft-text"
              rows={18}
              value={text}
              onChange={({ target }) => onChange({ text: target.value })}
            />
          )}
        </Field>
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
    </>
  );
}
