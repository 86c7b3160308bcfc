import { useState } from "react";
import type { KeyWithUse } from "#gen/toolgate/console/v1/key_service_pb.ts";
import { Button, Dialog, ErrorNote, Field, Select } from "../../ui/index.ts";
import { useRotateKey } from "./use-keys.ts";

const OVERLAPS = [
  { value: "0", label: "Stops immediately" },
  { value: "3600", label: "Works for 1 more hour" },
  { value: "86400", label: "Works for 1 more day" },
  { value: "604800", label: "Works for 7 more days" },
] as const;

/** Asks how long the old key keeps working after rotation. */
export function RotateDialog({ use, onClose }: { use: KeyWithUse | undefined; onClose: () => void }) {
  const [overlap, setOverlap] = useState<string>("86400");
  const { rotate, error, isPending, reset } = useRotateKey();
  const close = () => {
    reset();
    onClose();
  };
  return (
    <Dialog
      open={use !== undefined}
      title={`Rotate “${use?.key?.name ?? ""}”`}
      onClose={close}
      actions={
        <>
          <Button tone="quiet" onClick={close}>
            Cancel
          </Button>
          <Button
            tone="primary"
            busy={isPending}
            onClick={() => rotate({ keyId: use?.key?.keyId ?? "", overlapSeconds: Number(overlap) }, close)}
          >
            Rotate
          </Button>
        </>
      }
    >
      <p>
        Creates a new key with the same name, permissions and limits. Both keys share the limits per day, per
        month and in all.
      </p>
      <Field label="Old key" hint="Allow enough time to replace the old key everywhere">
        {(control) => (
          <Select
            {...control}
            options={OVERLAPS}
            value={overlap}
            onChange={({ target }) => setOverlap(target.value)}
          />
        )}
      </Field>
      <ErrorNote error={error} />
    </Dialog>
  );
}
