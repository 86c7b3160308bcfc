import { useState } from "react";
import type { KeyGroup } from "#gen/toolgate/v1/budget_pb.ts";
import { Button, Dialog, ErrorNote, Field, Input, showToast } from "../../ui/index.ts";
import { BudgetFields } from "./budget-fields.tsx";
import { budgetErrors, budgetFormOf, budgetOf, EMPTY_BUDGET } from "./budget-form.ts";
import { useCreateGroup, useUpdateGroup } from "./use-groups.ts";

/** Edits a group, or creates one. */
export function GroupDialog({
  open,
  group,
  onClose,
}: {
  open: boolean;
  group: KeyGroup | undefined;
  onClose: () => void;
}) {
  const [form, setForm] = useState(() => ({
    ...(group?.limits ? budgetFormOf(group.limits) : EMPTY_BUDGET),
    name: group?.name ?? "",
  }));
  const [submitted, setSubmitted] = useState(false);
  const [create, update] = [useCreateGroup(), useUpdateGroup()];
  const errors = submitted ? errorsOf(form) : {};
  const save = () => {
    setSubmitted(true);
    if (Object.keys(errorsOf(form)).length > 0) return;
    const wished = { name: form.name.trim(), limits: budgetOf(form) };
    const onSuccess = () => {
      showToast(`“${wished.name}” saved`);
      onClose();
    };
    if (group) update.mutate({ groupId: group.groupId, ...wished }, { onSuccess });
    else create.mutate(wished, { onSuccess });
  };
  return (
    <Dialog
      open={open}
      title={group ? `Edit “${group.name}”` : "New group"}
      onClose={onClose}
      actions={
        <>
          <Button tone="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button tone="primary" busy={create.isPending || update.isPending} onClick={save}>
            Save group
          </Button>
        </>
      }
    >
      <Field label="Name" error={errors.name} hint="Its keys share these limits">
        {(control) => (
          <Input
            {...control}
            maxLength={100}
            value={form.name}
            onChange={({ target }) => setForm({ ...form, name: target.value })}
          />
        )}
      </Field>
      <BudgetFields form={form} fieldErrors={errors} change={(part) => setForm({ ...form, ...part })} />
      <ErrorNote error={create.error ?? update.error} />
    </Dialog>
  );
}

type Form = typeof EMPTY_BUDGET & { name: string };

function errorsOf(form: Form): Partial<Record<keyof Form, string>> {
  return { ...(form.name.trim() === "" && { name: "Enter a name" }), ...budgetErrors(form) };
}
