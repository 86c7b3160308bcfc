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
          showToast(`“${use?.key?.name ?? ""}” is revoked`);
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
            Keep it
          </Button>
          <Button tone="danger" busy={isPending} onClick={revoke}>
            Revoke
          </Button>
        </>
      }
    >
      <p>
        Whatever uses <code>{use?.key?.prefix}…</code> is refused within a second. That cannot be undone; its
        receipts and runs stay. To replace it without a pause, rotate it instead.
      </p>
      <ErrorNote error={error} />
    </Dialog>
  );
}
