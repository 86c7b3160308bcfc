import { useState } from "react";
import type { KeyGroup } from "#gen/toolgate/v1/budget_pb.ts";
import { pluralize } from "../../format.ts";
import { useBlockedHint } from "../../session.tsx";
import {
  Button,
  Card,
  Dialog,
  EmptyState,
  ErrorNote,
  Name,
  showToast,
  Table,
  type Column,
} from "../../ui/index.ts";
import { Budgets } from "./budgets.tsx";
import { GroupDialog } from "./group-dialog.tsx";
import { useDeleteGroup, useGroups } from "./use-groups.ts";

/** Groups of keys with their budgets. */
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
  const blockedHint = useBlockedHint();
  const columns: readonly Column<KeyGroup>[] = [
    { head: "Group", cell: ({ name }) => <Name name={name} /> },
    { head: "Keys", cell: ({ keyIds }) => pluralize(keyIds.length, "key") },
    { head: "Budget", align: "end", cell: ({ budgets }) => <Budgets uses={budgets} /> },
    {
      head: "Actions",
      hideHead: true,
      align: "end",
      cell: (group) => (
        <div className="actions">
          <Button
            small
            tone="quiet"
            aria-label={`Edit ${group.name}`}
            disabled={blockedHint !== undefined}
            title={blockedHint}
            onClick={() => onEdit(group)}
          >
            Edit
          </Button>
          <Button small tone="quiet" aria-label={`Delete ${group.name}`} onClick={() => onDelete(group)}>
            Delete
          </Button>
        </div>
      ),
    },
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
  const { mutate, error, isPending, reset } = useDeleteGroup();
  const close = () => {
    reset();
    onClose();
  };
  const onSuccess = () => {
    showToast(`“${group?.name ?? ""}” deleted`);
    close();
  };
  return (
    <Dialog
      open={group !== undefined}
      title={`Delete “${group?.name ?? ""}”?`}
      onClose={close}
      actions={
        <>
          <Button tone="quiet" onClick={close}>
            Cancel
          </Button>
          <Button
            tone="danger"
            busy={isPending}
            onClick={() => mutate({ groupId: group?.groupId ?? "" }, { onSuccess })}
          >
            Delete
          </Button>
        </>
      }
    >
      <p>Its keys keep working, without the group’s limits. Their own limits stay.</p>
      <ErrorNote error={error} />
    </Dialog>
  );
}
