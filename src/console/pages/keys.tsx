import { useState } from "react";
import { useSearchParams } from "wouter";
import { KeyService, type KeyWithUse } from "#gen/toolgate/console/v1/key_service_pb.ts";
import { pluralize } from "../format.ts";
import { useBlockedHint } from "../session.tsx";
import { Button, Card, ErrorNote, Page, SelectField, ActionDialog } from "../ui/index.ts";
import { Groups } from "./keys/groups.tsx";
import { CreateKey, EditKey } from "./keys/key-form.tsx";
import { isKeyActive } from "./keys/key-state.ts";
import { KeyTable } from "./keys/key-table.tsx";
import { NewSecret } from "./keys/new-secret.tsx";
import { useLoaded } from "./query-result.tsx";
import { MutationDialog } from "./mutation-dialog.tsx";
import { useUnsavedSecret } from "../unsaved-secret.ts";
import { useGroups, useKeys, refreshKeys, useRotateKey } from "./keys/use-keys.ts";

export function KeysPage() {
  const keys = useKeys();
  const secret = useUnsavedSecret();
  const blockedHint = useBlockedHint();
  const [search, setSearch] = useSearchParams();
  // In the URL, so that other pages can link to the form.
  const creating = search.has("create") && !secret && blockedHint === undefined;
  const open = (form: Record<string, string>) => setSearch(form, { replace: true });
  const close = () => open({});
  const grouped = useGroups();
  const groups = grouped.data?.groups ?? [];
  const [rotating, setRotating] = useState<KeyWithUse>();
  const [revoking, setRevoking] = useState<KeyWithUse>();
  const all = keys.data?.keys;
  const editing = all?.find(({ key }) => key?.keyId === search.get("edit"));
  // Expiry is judged at the time of the response; the next poll updates it.
  const now = new Date(keys.dataUpdatedAt);
  return (
    <Page
      title="Keys"
      loading={!useLoaded(keys, grouped)}
      lead="Agents authenticate with API keys. Each key can have limits; all keys spend one balance."
      actions={
        !creating &&
        !secret && (
          <>
            {blockedHint !== undefined && <span className="hint">{blockedHint}</span>}
            <Button tone="primary" disabled={blockedHint !== undefined} onClick={() => open({ create: "" })}>
              Create key
            </Button>
          </>
        )
      }
    >
      {secret && <NewSecret secret={secret} />}
      {creating && <CreateKey onDone={close} />}
      {editing?.key && <EditKey key={editing.key.keyId} edited={editing.key} onDone={close} />}
      {keys.error && <ErrorNote error={keys.error} onRetry={() => void keys.refetch()} />}
      {(all || !keys.error) && (
        <KeyTables
          all={all}
          now={now}
          groups={groups}
          onEdit={({ key }) => open({ edit: key?.keyId ?? "" })}
          onRotate={setRotating}
          onRevoke={setRevoking}
          onCreate={creating || blockedHint !== undefined ? undefined : () => open({ create: "" })}
        />
      )}
      <Groups />
      <RotateDialog use={rotating} onClose={() => setRotating(undefined)} />
      <RevokeDialog use={revoking} onClose={() => setRevoking(undefined)} />
    </Page>
  );
}

type ListProps = Omit<Parameters<typeof KeyTable>[0], "keys"> & { all: readonly KeyWithUse[] | undefined };

function KeyTables({ all, ...rest }: ListProps) {
  const apps = all?.filter(({ key }) => key?.client) ?? [];
  return (
    <>
      <KeyList all={all?.filter(({ key }) => !key?.client)} {...rest} />
      {apps.length > 0 && <KeyList all={apps} {...rest} areApps />}
    </>
  );
}

function KeyList({ all, ...rest }: ListProps) {
  const { now, areApps = false } = rest;
  const [showEnded, setShowEnded] = useState(false);
  const active = all?.filter((use) => isKeyActive(use, now));
  const ended = all?.filter((use) => !isKeyActive(use, now)) ?? [];
  return (
    <>
      {(!areApps || active?.length !== 0) && (
        <Card flush {...(areApps && { title: "Connected apps" })}>
          <KeyTable keys={active} {...rest} />
        </Card>
      )}
      {ended.length > 0 && (
        <div className="stack">
          <div>
            <Button small tone="quiet" aria-expanded={showEnded} onClick={() => setShowEnded(!showEnded)}>
              {showEnded ? "Hide" : "Show"}{" "}
              {pluralize(ended.length, areApps ? "inactive app" : "inactive key")}
            </Button>
          </div>
          {showEnded && (
            <Card flush>
              <KeyTable keys={ended} {...rest} />
            </Card>
          )}
        </div>
      )}
    </>
  );
}

const OVERLAPS = [
  { value: "0", label: "Stops immediately" },
  { value: "3600", label: "Works for 1 more hour" },
  { value: "86400", label: "Works for 1 more day" },
  { value: "604800", label: "Works for 7 more days" },
] as const;

/** Asks how long the old key keeps working after rotation. */
function RotateDialog({ use, onClose }: { use: KeyWithUse | undefined; onClose: () => void }) {
  const [overlap, setOverlap] = useState<string>("86400");
  const { rotate, error, isPending, reset } = useRotateKey();
  const close = () => {
    reset();
    onClose();
  };
  return (
    <ActionDialog
      open={use !== undefined}
      title={`Rotate “${use?.key?.name ?? ""}”`}
      onClose={close}
      action="Rotate"
      busy={isPending}
      error={error}
      onAction={() => rotate({ keyId: use?.key?.keyId ?? "", overlapSeconds: Number(overlap) }, close)}
    >
      <p>
        Creates a new key with the same name, permissions and limits. Both keys share the limits per day, per
        month and in all.
      </p>
      <SelectField
        label="Old key"
        hint="Allow enough time to replace the old key everywhere"
        options={OVERLAPS}
        value={overlap}
        onChange={({ target }) => setOverlap(target.value)}
      />
    </ActionDialog>
  );
}

function RevokeDialog({ use, onClose }: { use: KeyWithUse | undefined; onClose: () => void }) {
  const { keyId = "", name = "", prefix, client } = use?.key ?? {};
  return (
    <MutationDialog
      open={use !== undefined}
      title={`Revoke “${name}”?`}
      onClose={onClose}
      action="Revoke"
      tone="danger"
      method={KeyService.method.revokeKey}
      input={() => ({ keyId })}
      onSuccess={refreshKeys}
      toast={`“${name}” revoked`}
    >
      {client ? (
        <p>
          Requests of this app are rejected within a second. Receipts and runs are kept. To use your account
          again, the app must ask you again.
        </p>
      ) : (
        <p>
          Requests with <code>{prefix}…</code> are rejected within a second. This cannot be undone. Receipts
          and runs are kept. To replace the key without downtime, rotate it instead.
        </p>
      )}
    </MutationDialog>
  );
}
