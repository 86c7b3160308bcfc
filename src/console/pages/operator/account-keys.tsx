import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { KeyService, type ApiKey } from "#gen/toolgate/v1/key_service_pb.ts";
import { reload } from "../../reload.ts";
import {
  Card,
  EmptyState,
  Name,
  RowButton,
  Status,
  Table,
  Time,
  type Column,
  actionColumn,
} from "../../ui/index.ts";
import { MutationDialog } from "../mutation-dialog.tsx";
import { QueryResult } from "../query-result.tsx";

export function AccountKeys({ accountId }: { accountId: string }) {
  const query = useQuery(KeyService.method.listKeys, { accountId });
  const [revoking, setRevoking] = useState<ApiKey>();
  const columns: readonly Column<ApiKey>[] = [
    { head: "Key", cell: (key) => <KeyName apiKey={key} /> },
    { head: "Scopes", cell: ({ scopes }) => <span className="soft">{scopes.join(", ")}</span> },
    { head: "Created", cell: ({ createdAt }) => <Time at={createdAt} relative /> },
    { head: "Expires", cell: ({ limits }) => <Time at={limits?.expiresAt} relative none="never" /> },
    actionColumn(
      (key) =>
        key.revokedAt === undefined && (
          <RowButton label="Revoke" row={key.name} onClick={() => setRevoking(key)} />
        ),
    ),
  ];
  return (
    <Card title="Keys" flush>
      <QueryResult query={query} lines={3} pad>
        {({ keys }) => (
          <Table
            caption="Keys of the account"
            columns={columns}
            rows={keys}
            rowKey={({ keyId }) => keyId}
            dim={({ revokedAt }) => revokedAt !== undefined}
            empty={<EmptyState title="No API keys" />}
          />
        )}
      </QueryResult>
      {revoking && <RevokeDialog apiKey={revoking} onClose={() => setRevoking(undefined)} />}
    </Card>
  );
}

function KeyName({ apiKey: { name, prefix, revokedAt, client } }: { apiKey: ApiKey }) {
  return (
    <div className="lines">
      <span className="row">
        <strong>
          <Name name={name === "" ? "unnamed" : name} />
        </strong>
        {revokedAt && <Status kind="off">Revoked</Status>}
      </span>
      {client ? <span className="hint">app of {client.host}</span> : <code className="faint">{prefix}…</code>}
    </div>
  );
}

function RevokeDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  return (
    <MutationDialog
      title={`Revoke “${apiKey.name}”?`}
      onClose={onClose}
      action="Revoke"
      tone="danger"
      method={KeyService.method.revokeKey}
      input={() => ({ keyId: apiKey.keyId })}
      onSuccess={() => reload(KeyService.method.listKeys)}
      toast={`“${apiKey.name}” revoked`}
    >
      <p>
        This key belongs to a customer. Requests with it are rejected within a second. This cannot be undone.
      </p>
    </MutationDialog>
  );
}
