import { useMutation, useQuery } from "@connectrpc/connect-query";
import { WebhookService, type WebhookAttempt } from "#gen/toolgate/v1/webhook_service_pb.ts";
import { truncateMiddle } from "../../format.ts";
import { Button, ErrorNote, showToast, Status, Table, Time, type Column } from "../../ui/index.ts";
import { reloadWebhooks } from "./use-webhooks.ts";

/** Attempts that are shown. */
const SHOWN = 20;

/** The delivery log of an endpoint, newest first. */
export function Attempts({ endpointId, deployment }: { endpointId: string; deployment: boolean }) {
  const { data, error, refetch } = useQuery(
    WebhookService.method.listWebhookAttempts,
    { endpointId, deployment, limit: SHOWN },
    { refetchInterval: 5_000 },
  );
  const replay = useMutation(WebhookService.method.replayWebhooks, {
    onSuccess: async () => {
      showToast("The event is sent again");
      await reloadWebhooks();
    },
  });
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
    {
      head: "Actions",
      hideHead: true,
      align: "end",
      cell: ({ eventId, type }) => (
        <Button
          small
          aria-label={`Send ${type} ${truncateMiddle(eventId, 10, 6)} again`}
          onClick={() => replay.mutate({ endpointId, deployment, eventId })}
        >
          Send again
        </Button>
      ),
    },
  ];
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  return (
    <>
      <ErrorNote error={replay.error} />
      <Table
        caption="Delivery log"
        columns={columns}
        rows={data?.items}
        rowKey={({ eventId, startedAt }) => `${eventId} ${startedAt?.seconds} ${startedAt?.nanos}`}
        empty={<p className="hint">Nothing was sent yet.</p>}
      />
    </>
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
