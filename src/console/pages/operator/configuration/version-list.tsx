import { createClient } from "@connectrpc/connect";
import { useState, useEffect } from "react";
import { OperationsService, type ConfigVersion } from "#gen/toolgate/v1/operations_service_pb.ts";
import { pluralize, truncateMiddle } from "../../../format.ts";
import { transport } from "../../../rpc.ts";
import {
  Button,
  showToast,
  Time,
  type Column,
  ErrorNote,
  Skeleton,
  ActionDialog,
  actionColumn,
} from "../../../ui/index.ts";
import { ListCard } from "../../activity/list-card.tsx";
import { usePagedList, type PagedList } from "../../paged-list.ts";
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { PlanResult } from "./plan-result.tsx";
import { showApplied } from "./show-applied.ts";

const client = createClient(OperationsService, transport);

export function useVersions(): PagedList<ConfigVersion> {
  return usePagedList(["config-versions"], (page, signal) => client.listConfigVersions(page, { signal }));
}

/** All versions; each can become a draft, or come into force again. */
export function VersionList({
  list,
  onDraft,
  hasDraft,
}: {
  list: PagedList<ConfigVersion>;
  onDraft: (document: string) => void;
  /** A draft is not replaced. */
  hasDraft: boolean;
}) {
  const [rolling, setRolling] = useState<ConfigVersion>();
  const newest = list.page === 1 ? list.rows?.[0]?.version : undefined;
  const edit = (version: number) => {
    client.getConfigVersion({ version }).then(
      ({ document }) => onDraft(document),
      () => showToast("The version could not be loaded", "bad"),
    );
  };
  const columns: readonly Column<ConfigVersion>[] = [
    {
      head: "Version",
      cell: ({ version }) => (version === newest ? `${version}, in force` : String(version)),
    },
    { head: "Applied", cell: ({ appliedAt }) => <Time at={appliedAt} /> },
    { head: "How", cell: ({ source }) => source },
    { head: "By", cell: ({ actor }) => <code title={actor}>{truncateMiddle(actor, 12, 4)}</code> },
    { head: "Note", cell: ({ note }) => (note === "" ? <span className="faint">—</span> : note) },
    actionColumn((row) => (
      <span className="row">
        {!hasDraft && (
          <Button small onClick={() => edit(row.version)}>
            Draft
          </Button>
        )}
        {row.version !== newest && (
          <Button small onClick={() => setRolling(row)}>
            Roll back
          </Button>
        )}
      </span>
    )),
  ];
  return (
    <>
      <ListCard
        caption="Versions"
        list={list}
        columns={columns}
        rowKey={({ version }) => String(version)}
        amounts={() => []}
        shown={(rows) => pluralize(rows, "version")}
        empty={null}
      />
      {rolling && <RollbackDialog version={rolling.version} onClose={() => setRolling(undefined)} />}
    </>
  );
}

/** Shows what returning to a version changes, and does it. */
function RollbackDialog({ version, onClose }: { version: number; onClose: () => void }) {
  const stored = useQuery(OperationsService.method.getConfigVersion, { version });
  const plan = useMutation(OperationsService.method.planConfig);
  const roll = useMutation(OperationsService.method.rollBackConfig, {
    onSuccess: async (applied) => {
      await showApplied(applied);
      onClose();
    },
  });
  const document = stored.data?.document;
  const { mutate } = plan;
  useEffect(() => {
    if (document !== undefined) mutate({ document });
  }, [document, mutate]);
  return (
    <ActionDialog
      title={`Roll back to version ${version}`}
      onClose={onClose}
      action="Roll back"
      busy={roll.isPending}
      disabled={!plan.data || plan.data.changes.length === 0}
      onAction={() => roll.mutate({ version, expectedVersion: plan.data?.version ?? 0 })}
    >
      <p>The version is applied again under a new number.</p>
      <ErrorNote error={stored.error ?? plan.error ?? roll.error} />
      {plan.data ? <PlanResult plan={plan.data} /> : !plan.error && <Skeleton lines={3} />}
    </ActionDialog>
  );
}
