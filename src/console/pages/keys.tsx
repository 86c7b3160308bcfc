import { useState } from "react";
import { useSearchParams } from "wouter";
import type { KeyWithUse } from "#gen/toolgate/console/v1/key_service_pb.ts";
import { pluralize } from "../format.ts";
import { useBlockedHint } from "../session.tsx";
import { Button, Card, ErrorNote, Page } from "../ui/index.ts";
import { Groups } from "./keys/groups.tsx";
import { CreateKey, EditKey } from "./keys/key-form.tsx";
import { isKeyActive } from "./keys/key-state.ts";
import { KeyTable } from "./keys/key-table.tsx";
import { NewSecret } from "./keys/new-secret.tsx";
import { RevokeDialog } from "./keys/revoke-dialog.tsx";
import { RotateDialog } from "./keys/rotate-dialog.tsx";
import { useUnsavedSecret } from "../unsaved-secret.ts";
import { useGroups } from "./keys/use-groups.ts";
import { useKeys } from "./keys/use-keys.ts";

/** The account's API keys. */
export function KeysPage() {
  const keys = useKeys();
  const secret = useUnsavedSecret();
  const blockedHint = useBlockedHint();
  const [search, setSearch] = useSearchParams();
  // In the URL, so that other pages can link to the form.
  const creating = search.has("create") && !secret && blockedHint === undefined;
  const open = (form: boolean) => setSearch(form ? { create: "" } : {}, { replace: true });
  const groups = useGroups().data?.groups ?? [];
  const [editing, setEditing] = useState<KeyWithUse>();
  const [rotating, setRotating] = useState<KeyWithUse>();
  const [revoking, setRevoking] = useState<KeyWithUse>();
  const all = keys.data?.keys;
  // Expiry is judged at the time of the response; the next poll updates it.
  const now = new Date(keys.dataUpdatedAt);
  return (
    <Page
      title="Keys"
      lead="Agents authenticate with API keys. Each key can have limits; all keys spend one balance."
      actions={
        !creating &&
        !secret && (
          <>
            {blockedHint !== undefined && <span className="hint">{blockedHint}</span>}
            <Button tone="primary" disabled={blockedHint !== undefined} onClick={() => open(true)}>
              Create key
            </Button>
          </>
        )
      }
    >
      {secret && <NewSecret secret={secret} />}
      {creating && <CreateKey onDone={() => open(false)} />}
      {editing?.key && (
        <EditKey key={editing.key.keyId} edited={editing.key} onDone={() => setEditing(undefined)} />
      )}
      {keys.error && <ErrorNote error={keys.error} onRetry={() => void keys.refetch()} />}
      {(all || !keys.error) && (
        <KeyTables
          all={all}
          now={now}
          groups={groups}
          onEdit={(use) => {
            open(false);
            setEditing(use);
          }}
          onRotate={setRotating}
          onRevoke={setRevoking}
          onCreate={creating || blockedHint !== undefined ? undefined : () => open(true)}
        />
      )}
      <Groups />
      <RotateDialog use={rotating} onClose={() => setRotating(undefined)} />
      <RevokeDialog use={revoking} onClose={() => setRevoking(undefined)} />
    </Page>
  );
}

function KeyTables({
  all,
  now,
  ...rest
}: Omit<Parameters<typeof KeyTable>[0], "keys"> & { all: readonly KeyWithUse[] | undefined }) {
  const [showEnded, setShowEnded] = useState(false);
  const active = all?.filter((use) => isKeyActive(use, now));
  const ended = all?.filter((use) => !isKeyActive(use, now)) ?? [];
  return (
    <>
      <Card flush>
        <KeyTable keys={active} now={now} {...rest} />
      </Card>
      {ended.length > 0 && (
        <div className="stack">
          <div>
            <Button small tone="quiet" aria-expanded={showEnded} onClick={() => setShowEnded(!showEnded)}>
              {showEnded ? "Hide" : "Show"} {pluralize(ended.length, "inactive key")}
            </Button>
          </div>
          {showEnded && (
            <Card flush>
              <KeyTable keys={ended} now={now} {...rest} />
            </Card>
          )}
        </div>
      )}
    </>
  );
}
