import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useState } from "react";
import { WebhookService } from "#gen/toolgate/v1/webhook_service_pb.ts";
import { pluralize } from "../../format.ts";
import { SelectField } from "../../ui/index.ts";
import { reload } from "../../reload.ts";
import { MutationDialog } from "../mutation-dialog.tsx";

const reloadEndpoints = () => reload(WebhookService.method.listWebhookEndpoints);

/** Loads endpoints and attempts again after a change. */
export async function reloadWebhooks(): Promise<void> {
  await reloadEndpoints();
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
  return (
    <MutationDialog
      open={open}
      title="Rotate the secret"
      onClose={onClose}
      action="Rotate"
      method={WebhookService.method.rotateWebhookSecret}
      input={() => ({ ...selected, overlapSeconds: Number(overlap) })}
      onSuccess={({ secret }) => {
        onSecret(secret);
        return reloadWebhooks();
      }}
    >
      <SelectField
        label="Old secret"
        hint="During the overlap each request has two signatures"
        options={OVERLAPS}
        value={overlap}
        onChange={({ target }) => setOverlap(target.value)}
      />
    </MutationDialog>
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
  return (
    <MutationDialog
      open={open}
      title="Replay events"
      onClose={onClose}
      action="Replay"
      method={WebhookService.method.replayWebhooks}
      input={() => {
        const since = timestampFromDate(new Date(Date.now() - Number(hours) * HOUR_MS));
        return { ...selected, since };
      }}
      onSuccess={reloadWebhooks}
      toast={({ events }) => `${pluralize(events, "event")} sent again`}
    >
      <p>Sends all events of this endpoint again, in their order and with their identifiers.</p>
      <SelectField
        label="Events"
        options={SPANS}
        value={hours}
        onChange={({ target }) => setHours(target.value)}
      />
    </MutationDialog>
  );
}

export function DeleteDialog({
  open,
  onClose,
  onDeleted,
  ...selected
}: DialogProps & { readonly onDeleted: () => void }) {
  return (
    <MutationDialog
      open={open}
      title="Delete this endpoint?"
      onClose={onClose}
      action="Delete endpoint"
      tone="danger"
      method={WebhookService.method.deleteWebhookEndpoint}
      input={() => selected}
      onSuccess={() => {
        onDeleted();
        return reloadEndpoints();
      }}
      toast="Endpoint deleted"
    >
      <p>Events that it has not received are not sent, and its delivery log is deleted.</p>
    </MutationDialog>
  );
}
