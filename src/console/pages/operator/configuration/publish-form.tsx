import { useMutation } from "@connectrpc/connect-query";
import { useState } from "react";
import { OperationsService, type PlanConfigResponse } from "#gen/toolgate/v1/operations_service_pb.ts";
import { queryClient } from "../../../rpc.ts";
import { Button, Checkbox, ErrorNote, Field, Input, showToast } from "../../../ui/index.ts";

/** Publishes exactly what was compared, unless another version is in force by then. */
export function PublishForm({
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
    onSuccess: async ({ version }) => {
      showToast(`Version ${version} is in force`);
      onPublished();
      await queryClient.invalidateQueries();
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
      <Field label="Note" hint="Why, for the history" optional>
        {(control) => (
          <Input {...control} maxLength={500} value={note} onChange={({ target }) => setNote(target.value)} />
        )}
      </Field>
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
