import type { KeyWithUse } from "#gen/toolgate/console/v1/key_service_pb.ts";
import { Button, Dialog, ErrorNote, showToast } from "../../ui/index.ts";
import { useRevokeKey } from "./use-keys.ts";

/** Confirms revoking a key. */
export function RevokeDialog({ use, onClose }: { use: KeyWithUse | undefined; onClose: () => void }) {
  const { mutate, error, isPending, reset } = useRevokeKey();
  const close = () => {
    reset();
    onClose();
  };
  const revoke = () => {
    mutate(
      { keyId: use?.key?.keyId ?? "" },
      {
        onSuccess: () => {
          showToast(`“${use?.key?.name ?? ""}” revoked`);
          close();
        },
      },
    );
  };
  return (
    <Dialog
      open={use !== undefined}
      title={`Revoke “${use?.key?.name ?? ""}”?`}
      onClose={close}
      actions={
        <>
          <Button tone="quiet" onClick={close}>
            Cancel
          </Button>
          <Button tone="danger" busy={isPending} onClick={revoke}>
            Revoke
          </Button>
        </>
      }
    >
      <p>
        Requests with <code>{use?.key?.prefix}…</code> are rejected within a second. This cannot be undone.
        Receipts and runs are kept. To replace the key without downtime, rotate it instead.
      </p>
      <ErrorNote error={error} />
    </Dialog>
  );
}
