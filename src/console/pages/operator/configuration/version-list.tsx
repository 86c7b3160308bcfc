import { createClient } from "@connectrpc/connect";
import { useMemo, useState } from "react";
import { OperationsService, type ConfigVersion } from "#gen/toolgate/v1/operations_service_pb.ts";
import { pluralize, truncateMiddle } from "../../../format.ts";
import { transport } from "../../../rpc.ts";
import { Button, EmptyState, showToast, Time, type Column } from "../../../ui/index.ts";
import { ListCard } from "../../activity/list-card.tsx";
import { usePagedList } from "../../paged-list.ts";
import { RollbackDialog } from "./rollback-dialog.tsx";

/** All versions; each can become a draft, or come into force again. */
export function VersionList({
  onDraft,
  hasDraft,
}: {
  onDraft: (document: string) => void;
  /** A draft is not replaced. */
  hasDraft: boolean;
}) {
  const client = useMemo(() => createClient(OperationsService, transport), []);
  const list = usePagedList(["config-versions"], (page, signal) =>
    client.listConfigVersions(page, { signal }),
  );
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
    {
      head: "Actions",
      hideHead: true,
      align: "end",
      cell: (row) => (
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
      ),
    },
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
        empty={<EmptyState title="No version yet">Published drafts are listed here.</EmptyState>}
      />
      {rolling && <RollbackDialog version={rolling.version} onClose={() => setRolling(undefined)} />}
    </>
  );
}
