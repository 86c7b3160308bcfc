import { useState } from "react";
import { KeyService } from "#gen/toolgate/console/v1/key_service_pb.ts";
import type { KeyGroup } from "#gen/toolgate/v1/budget_pb.ts";
import { pluralize } from "../../format.ts";
import { createFormMemory, useFormMemory } from "../../form-memory.ts";
import { useBlockedHint } from "../../session.tsx";
import {
  Button,
  Card,
  EmptyState,
  ErrorNote,
  Name,
  RowButton,
  showToast,
  Table,
  type Column,
  TextField,
  ActionDialog,
  actionColumn,
} from "../../ui/index.ts";
import { MutationDialog } from "../mutation-dialog.tsx";
import { Budgets } from "./budgets.tsx";
import { refreshKeys, useGroups, useCreateGroup, useUpdateGroup } from "./use-keys.ts";
import { BudgetFields } from "./budget-fields.tsx";
import { budgetErrors, budgetFormOf, budgetOf, EMPTY_BUDGET } from "./budget-form.ts";

export function Groups() {
  const { data, error, refetch } = useGroups();
  const blockedHint = useBlockedHint();
  const [edit, setEdit] = useState({ group: undefined as KeyGroup | undefined, count: 0, open: false });
  const open = (group?: KeyGroup) => setEdit({ group, count: edit.count + 1, open: true });
  const [deleting, setDeleting] = useState<KeyGroup>();
  return (
    <Card
      title="Groups"
      flush
      actions={
        <Button small disabled={blockedHint !== undefined} title={blockedHint} onClick={() => open()}>
          Create group
        </Button>
      }
    >
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data && <GroupTable groups={data.groups} onEdit={open} onDelete={setDeleting} />}
      <GroupDialog
        key={edit.count}
        open={edit.open}
        group={edit.group}
        onClose={() => setEdit({ ...edit, open: false })}
      />
      <DeleteDialog group={deleting} onClose={() => setDeleting(undefined)} />
    </Card>
  );
}

function GroupTable({
  groups,
  onEdit,
  onDelete,
}: {
  groups: readonly KeyGroup[];
  onEdit: (group: KeyGroup) => void;
  onDelete: (group: KeyGroup) => void;
}) {
  const hint = useBlockedHint();
  const blocked = { disabled: hint !== undefined, title: hint };
  const columns: readonly Column<KeyGroup>[] = [
    { head: "Group", cell: ({ name }) => <Name name={name} /> },
    { head: "Keys", cell: ({ keyIds }) => pluralize(keyIds.length, "key") },
    { head: "Budget", align: "end", cell: ({ budgets }) => <Budgets uses={budgets} /> },
    actionColumn((group) => (
      <div className="actions">
        <RowButton label="Edit" row={group.name} {...blocked} onClick={() => onEdit(group)} />
        <RowButton label="Delete" row={group.name} onClick={() => onDelete(group)} />
      </div>
    )),
  ];
  return (
    <Table
      caption="Groups of keys"
      columns={columns}
      rows={groups}
      rowKey={({ groupId }) => groupId}
      empty={
        <EmptyState title="No groups yet">
          Keys in a group share its limits. Create a group, then edit a key to add it.
        </EmptyState>
      }
    />
  );
}

function DeleteDialog({ group, onClose }: { group: KeyGroup | undefined; onClose: () => void }) {
  const { groupId = "", name = "" } = group ?? {};
  return (
    <MutationDialog
      open={group !== undefined}
      title={`Delete “${name}”?`}
      onClose={onClose}
      action="Delete"
      tone="danger"
      method={KeyService.method.deleteKeyGroup}
      input={() => ({ groupId })}
      onSuccess={refreshKeys}
      toast={`“${name}” deleted`}
    >
      <p>Its keys keep working, without the group’s limits. Their own limits stay.</p>
    </MutationDialog>
  );
}

const memory = createFormMemory<Form>();

function GroupDialog({
  open,
  group,
  onClose,
}: {
  open: boolean;
  group: KeyGroup | undefined;
  onClose: () => void;
}) {
  const [form, setForm, forget] = useFormMemory(memory, group?.groupId ?? "new", () => ({
    ...(group?.limits ? budgetFormOf(group.limits) : EMPTY_BUDGET),
    name: group?.name ?? "",
  }));
  const close = () => {
    forget();
    onClose();
  };
  const [submitted, setSubmitted] = useState(false);
  const [create, update] = [useCreateGroup(), useUpdateGroup()];
  const errors = submitted ? errorsOf(form) : {};
  const save = () => {
    setSubmitted(true);
    if (Object.keys(errorsOf(form)).length > 0) return;
    const requested = { name: form.name.trim(), limits: budgetOf(form) };
    const onSuccess = () => {
      showToast(`“${requested.name}” saved`);
      close();
    };
    if (group) {
      const { groupId, limits: expectedLimits } = group;
      const name = requested.name === group.name ? undefined : requested.name;
      update.mutate({ groupId, name, limits: requested.limits, expectedLimits }, { onSuccess });
    } else create.mutate(requested, { onSuccess });
  };
  return (
    <ActionDialog
      open={open}
      title={group ? `Edit “${group.name}”` : "New group"}
      onClose={close}
      action="Save group"
      busy={create.isPending || update.isPending}
      error={create.error ?? update.error}
      onAction={save}
    >
      <TextField
        label="Name"
        error={errors.name}
        hint="Its keys share these limits"
        maxLength={100}
        value={form.name}
        onChange={({ target }) => setForm({ ...form, name: target.value })}
      />
      <BudgetFields form={form} fieldErrors={errors} change={(part) => setForm({ ...form, ...part })} />
    </ActionDialog>
  );
}

type Form = typeof EMPTY_BUDGET & { name: string };

function errorsOf(form: Form): Partial<Record<keyof Form, string>> {
  return { ...(form.name.trim() === "" && { name: "Enter a name" }), ...budgetErrors(form) };
}
