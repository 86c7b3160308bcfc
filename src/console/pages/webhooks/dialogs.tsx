import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useMutation } from "@connectrpc/connect-query";
import { useState } from "react";
import { WebhookService } from "#gen/toolgate/v1/webhook_service_pb.ts";
import { pluralize } from "../../format.ts";
import { showToast, SelectField, ActionDialog } from "../../ui/index.ts";
import { reload } from "../../reload.ts";

/** Loads endpoints and attempts again after a change; first the endpoints: a deleted one has no attempts. */
export async function reloadWebhooks(): Promise<void> {
  await reload(WebhookService.method.listWebhookEndpoints);
  await reload(WebhookService.method.listWebhookAttempts);
}

interface DialogProps {
  readonly endpointId: string;
  readonly deployment: boolean;
  readonly open: boolean;
  readonly onClose: () => void;
}

const OVERLAPS = [
  { value: "0", label: "Stops immediately" },
  { value: "3600", label: "Signs too for 1 hour" },
  { value: "86400", label: "Signs too for 1 day" },
  { value: "604800", label: "Signs too for 7 days" },
] as const;

export function RotateDialog({
  open,
  onClose,
  onSecret,
  ...selected
}: DialogProps & { readonly onSecret: (secret: string) => void }) {
  const [overlap, setOverlap] = useState("86400");
  const { mutate, error, isPending } = useMutation(WebhookService.method.rotateWebhookSecret, {
    onSuccess: async ({ secret }) => {
      onSecret(secret);
      onClose();
      await reloadWebhooks();
    },
  });
  return (
    <ActionDialog
      open={open}
      title="Rotate the secret"
      onClose={onClose}
      action="Rotate"
      busy={isPending}
      error={error}
      onAction={() => mutate({ ...selected, overlapSeconds: Number(overlap) })}
    >
      <SelectField
        label="Old secret"
        hint="During the overlap each request has two signatures"
        options={OVERLAPS}
        value={overlap}
        onChange={({ target }) => setOverlap(target.value)}
      />
    </ActionDialog>
  );
}

const SPANS = [
  { value: "1", label: "Of the last hour" },
  { value: "24", label: "Of the last day" },
  { value: "168", label: "Of the last 7 days" },
  { value: "720", label: "Of the last 30 days" },
] as const;

const HOUR_MS = 3_600_000;

export function ReplayDialog({ open, onClose, ...selected }: DialogProps) {
  const [hours, setHours] = useState("1");
  const { mutate, error, isPending } = useMutation(WebhookService.method.replayWebhooks, {
    onSuccess: async ({ events }) => {
      showToast(`${pluralize(events, "event")} sent again`);
      onClose();
      await reloadWebhooks();
    },
  });
  return (
    <ActionDialog
      open={open}
      title="Replay events"
      onClose={onClose}
      action="Replay"
      busy={isPending}
      error={error}
      onAction={() =>
        mutate({
          ...selected,
          since: timestampFromDate(new Date(Date.now() - Number(hours) * HOUR_MS)),
        })
      }
    >
      <p>Sends all events of this endpoint again, in their order and with their identifiers.</p>
      <SelectField
        label="Events"
        options={SPANS}
        value={hours}
        onChange={({ target }) => setHours(target.value)}
      />
    </ActionDialog>
  );
}

export function DeleteDialog({ open, onClose, ...selected }: DialogProps) {
  const { mutate, error, isPending } = useMutation(WebhookService.method.deleteWebhookEndpoint, {
    onSuccess: async () => {
      showToast("Endpoint deleted");
      onClose();
      await reloadWebhooks();
    },
  });
  return (
    <ActionDialog
      open={open}
      title="Delete this endpoint?"
      onClose={onClose}
      action="Delete endpoint"
      tone="danger"
      busy={isPending}
      error={error}
      onAction={() => mutate(selected)}
    >
      <p>Events that it has not received are not sent, and its delivery log is deleted.</p>
    </ActionDialog>
  );
}
