import { useMutation } from "@connectrpc/connect-query";
import { useState } from "react";
import { WebhookService, type WebhookEndpoint } from "#gen/toolgate/v1/webhook_service_pb.ts";
import { pluralize } from "../../format.ts";
import { Button, Card, ErrorNote, Facts, Note, showToast, Status, Time } from "../../ui/index.ts";
import { Attempts } from "./attempts.tsx";
import { DeleteDialog, ReplayDialog, RotateDialog } from "./dialogs.tsx";
import { EndpointForm } from "./endpoint-form.tsx";
import { reloadWebhooks } from "./use-webhooks.ts";

interface CardProps {
  readonly endpoint: WebhookEndpoint;
  readonly types: readonly string[];
  readonly deployment: boolean;
  readonly onSecret: (secret: { url: string; secret: string }) => void;
}

type Open = "edit" | "rotate" | "replay" | "delete";

/** An endpoint with its state, actions and delivery log. */
export function EndpointCard({ endpoint, types, deployment, onSecret }: CardProps) {
  const { endpointId, url, enabled } = endpoint;
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const test = useMutation(WebhookService.method.sendTestWebhook, {
    onSuccess: async () => {
      showToast("Test event sent");
      await reloadWebhooks();
    },
  });
  const update = useMutation(WebhookService.method.updateWebhookEndpoint, { onSuccess: reloadWebhooks });
  const selected = { endpointId, deployment };
  return (
    <Card title={url} actions={<State endpoint={endpoint} />}>
      {open === "edit" ? (
        <EndpointForm endpoint={endpoint} types={types} deployment={deployment} onDone={close} />
      ) : (
        <>
          <FailureNote endpoint={endpoint} />
          <Facts
            facts={[
              ["Events", endpoint.types.join(", ")],
              ["Waiting", pluralize(endpoint.pending, "event")],
              [
                "Old secret",
                endpoint.oldSecretUntil && (
                  <>
                    signs too until <Time at={endpoint.oldSecretUntil} />
                  </>
                ),
              ],
            ]}
          />
          <div className="actions">
            <Button small busy={test.isPending} disabled={!enabled} onClick={() => test.mutate(selected)}>
              Send test event
            </Button>
            <Button small onClick={() => setOpen("replay")}>
              Replay
            </Button>
            <Button small onClick={() => setOpen("edit")}>
              Edit
            </Button>
            <Button small onClick={() => setOpen("rotate")}>
              Rotate secret
            </Button>
            <Button
              small
              busy={update.isPending}
              onClick={() => update.mutate({ ...selected, enabled: !enabled })}
            >
              {enabled ? "Disable" : "Enable"}
            </Button>
            <Button small tone="danger" onClick={() => setOpen("delete")}>
              Delete
            </Button>
          </div>
          <ErrorNote error={test.error ?? update.error} />
          <Attempts {...selected} />
        </>
      )}
      <RotateDialog
        {...selected}
        open={open === "rotate"}
        onClose={close}
        onSecret={(secret) => onSecret({ url, secret })}
      />
      <ReplayDialog {...selected} open={open === "replay"} onClose={close} />
      <DeleteDialog {...selected} open={open === "delete"} onClose={close} />
    </Card>
  );
}

function State({ endpoint: { enabled, failures, disabledReason } }: { endpoint: WebhookEndpoint }) {
  if (!enabled) return <Status kind={disabledReason === "" ? "off" : "bad"}>Disabled</Status>;
  return failures > 0 ? <Status kind="warn">Failing</Status> : <Status kind="ok">Enabled</Status>;
}

function FailureNote({ endpoint }: { endpoint: WebhookEndpoint }) {
  const { disabledReason, failures, failingSince, retryAt, enabled } = endpoint;
  if (disabledReason !== "")
    return (
      <Note tone="bad">
        Disabled by the gateway: {disabledReason}. Enable it when the receiver works again.
      </Note>
    );
  if (failures === 0 || !enabled) return null;
  return (
    <Note tone="warn">
      {pluralize(failures, "attempt")} failed since <Time at={failingSince} />. Next attempt:{" "}
      <Time at={retryAt} relative />.
    </Note>
  );
}
