import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useMutation } from "@connectrpc/connect-query";
import { useState } from "react";
import { WebhookService } from "#gen/toolgate/v1/webhook_service_pb.ts";
import { pluralize } from "../../format.ts";
import { Button, Dialog, ErrorNote, Field, Select, showToast } from "../../ui/index.ts";
import { reloadWebhooks } from "./use-webhooks.ts";

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

/** Replaces the secret. */
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
    <Dialog
      open={open}
      title="Rotate the secret"
      onClose={onClose}
      actions={
        <>
          <Button tone="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button
            tone="primary"
            busy={isPending}
            onClick={() => mutate({ ...selected, overlapSeconds: Number(overlap) })}
          >
            Rotate
          </Button>
        </>
      }
    >
      <Field label="Old secret" hint="During the overlap each request has two signatures">
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

const SPANS = [
  { value: "1", label: "Of the last hour" },
  { value: "24", label: "Of the last day" },
  { value: "168", label: "Of the last 7 days" },
  { value: "720", label: "Of the last 30 days" },
] as const;

const HOUR_MS = 3_600_000;

/** Sends events again. */
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
    <Dialog
      open={open}
      title="Replay events"
      onClose={onClose}
      actions={
        <>
          <Button tone="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button
            tone="primary"
            busy={isPending}
            onClick={() =>
              mutate({
                ...selected,
                since: timestampFromDate(new Date(Date.now() - Number(hours) * HOUR_MS)),
              })
            }
          >
            Replay
          </Button>
        </>
      }
    >
      <p>Sends all events of this endpoint again, in their order and with their identifiers.</p>
      <Field label="Events">
        {(control) => (
          <Select
            {...control}
            options={SPANS}
            value={hours}
            onChange={({ target }) => setHours(target.value)}
          />
        )}
      </Field>
      <ErrorNote error={error} />
    </Dialog>
  );
}

/** Deletes the endpoint. */
export function DeleteDialog({ open, onClose, ...selected }: DialogProps) {
  const { mutate, error, isPending } = useMutation(WebhookService.method.deleteWebhookEndpoint, {
    onSuccess: async () => {
      showToast("Endpoint deleted");
      onClose();
      await reloadWebhooks();
    },
  });
  return (
    <Dialog
      open={open}
      title="Delete this endpoint?"
      onClose={onClose}
      actions={
        <>
          <Button tone="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button tone="danger" busy={isPending} onClick={() => mutate(selected)}>
            Delete endpoint
          </Button>
        </>
      }
    >
      <p>Events that it has not received are not sent, and its delivery log is deleted.</p>
      <ErrorNote error={error} />
    </Dialog>
  );
}
