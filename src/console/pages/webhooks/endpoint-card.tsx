import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useEffect, useState } from "react";
import {
  WebhookService,
  type WebhookEndpoint,
  type WebhookAttempt,
} from "#gen/toolgate/v1/webhook_service_pb.ts";
import { pluralize, truncateMiddle } from "../../format.ts";
import {
  Button,
  Card,
  ErrorNote,
  Facts,
  Note,
  Status,
  Time,
  Table,
  type Column,
  actionColumn,
} from "../../ui/index.ts";
import { DeleteDialog, ReplayDialog, reloadWebhooks, RotateDialog } from "./dialogs.tsx";
import { EndpointForm } from "./endpoint-form.tsx";

interface CardProps {
  readonly endpoint: WebhookEndpoint;
  readonly types: readonly string[];
  readonly deployment: boolean;
  readonly onSecret: (secret: { url: string; secret: string }) => void;
}

type Open = "edit" | "rotate" | "replay" | "delete" | "deleted";

export function EndpointCard({ endpoint, types, deployment, onSecret }: CardProps) {
  const { endpointId, url, enabled } = endpoint;
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen((now) => (now === "deleted" ? now : undefined));
  const test = useMutation(WebhookService.method.sendTestWebhook, { onSuccess: reloadWebhooks });
  const update = useMutation(WebhookService.method.updateWebhookEndpoint, { onSuccess: reloadWebhooks });
  const selected = { endpointId, deployment };
  const paused = open === "delete" || open === "deleted";
  return (
    <Card title={url} actions={<State endpoint={endpoint} />}>
      {open === "edit" ? (
        <EndpointForm endpoint={endpoint} types={types} deployment={deployment} onDone={close} />
      ) : (
        <>
          {enabled && !endpoint.verified && (
            <Note>Nothing but test events is sent until the URL answers one with 2xx.</Note>
          )}
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
          <Attempts {...{ endpoint, deployment, paused }} tested={test.data?.eventId} />
        </>
      )}
      <RotateDialog
        {...selected}
        open={open === "rotate"}
        onClose={close}
        onSecret={(secret) => onSecret({ url, secret })}
      />
      <ReplayDialog {...selected} open={open === "replay"} onClose={close} />
      <DeleteDialog
        {...selected}
        open={open === "delete"}
        onClose={close}
        onDeleted={() => setOpen("deleted")}
      />
    </Card>
  );
}

function State({ endpoint: { enabled, verified, failures, disabledReason } }: { endpoint: WebhookEndpoint }) {
  if (!enabled) return <Status kind={disabledReason === "" ? "off" : "bad"}>Disabled</Status>;
  if (!verified) return <Status kind="warn">Unverified</Status>;
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

const SHOWN = 20;

interface AttemptsProps extends Pick<CardProps, "endpoint" | "deployment"> {
  /** The last test event, `evt_…`. */
  readonly tested: string | undefined;
  /** A deleted endpoint has no attempts to load. */
  readonly paused: boolean;
}

/** The delivery log of an endpoint, newest first, below the result of its last test event. */
function Attempts({ endpoint, deployment, tested, paused }: AttemptsProps) {
  const { endpointId, pending, failures, verified } = endpoint;
  const { data, error, refetch } = useQuery(
    WebhookService.method.listWebhookAttempts,
    { endpointId, deployment, limit: SHOWN },
    { enabled: !paused, refetchInterval: pending > 0 ? 1_000 : 5_000 },
  );
  // Each delivery changes one of them.
  useEffect(() => {
    if (!paused) void refetch();
  }, [pending, failures, verified, paused, refetch]);
  const replay = useMutation(WebhookService.method.replayWebhooks, { onSuccess: reloadWebhooks });
  const columns: readonly Column<WebhookAttempt>[] = [
    { head: "Time", cell: ({ startedAt }) => <Time at={startedAt} /> },
    {
      head: "Event",
      cell: ({ type, eventId }) => (
        <div className="lines">
          <code>{type}</code>
          <code className="faint" title={eventId}>
            {truncateMiddle(eventId, 10, 6)}
          </code>
        </div>
      ),
    },
    { head: "Result", cell: (attempt) => <Result attempt={attempt} /> },
    { head: "Duration", align: "end", cell: ({ ms }) => `${ms} ms` },
    actionColumn(({ eventId, type }) => (
      <Button
        small
        aria-label={`Send again: ${type} ${truncateMiddle(eventId, 10, 6)}`}
        onClick={() => replay.mutate({ endpointId, deployment, eventId })}
      >
        Send again
      </Button>
    )),
  ];
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  return (
    <>
      <ErrorNote error={replay.error} />
      {tested !== undefined && data && (
        <TestResult failures={failures} attempt={data.items.find(({ eventId }) => eventId === tested)} />
      )}
      <Table
        caption="Delivery log"
        columns={columns}
        rows={data?.items}
        rowKey={({ eventId, startedAt }) => `${eventId} ${startedAt?.seconds} ${startedAt?.nanos}`}
        empty={
          <p className="hint">
            {pending > 0 ? `${pluralize(pending, "event")} to be sent.` : "Nothing was sent in 30 days."}
          </p>
        }
      />
    </>
  );
}

/** How the last test event ended: an event that waits was not sent. */
function TestResult({ failures, attempt }: { failures: number; attempt: WebhookAttempt | undefined }) {
  const waits = failures > 0 ? "The test event is not sent yet: it waits for the next attempt." : undefined;
  const { error = "", status } = attempt ?? {};
  return (
    <div role="status">
      {!attempt && (
        <Note tone={waits === undefined ? "info" : "warn"}>{waits ?? "Sending the test event…"}</Note>
      )}
      {attempt && error === "" && <Note tone="ok">The receiver answered the test event with {status}.</Note>}
      {error !== "" && <Note tone="warn">The test event failed: {error}</Note>}
    </div>
  );
}

function Result({ attempt: { status, error } }: { attempt: WebhookAttempt }) {
  if (error === "") return <Status kind="ok">{status}</Status>;
  return (
    <div className="lines">
      <Status kind="bad">{status ?? "No response"}</Status>
      <span className="hint">{error}</span>
    </div>
  );
}
