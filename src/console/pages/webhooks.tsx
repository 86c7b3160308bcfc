import { useQuery } from "@connectrpc/connect-query";
import { useState, useEffect, useRef } from "react";
import { useSearchParams } from "wouter";
import { WebhookService, type WebhookEndpoint } from "#gen/toolgate/v1/webhook_service_pb.ts";
import { Button, Card, EmptyState, ErrorNote, Page, Skeleton, Code } from "../ui/index.ts";
import { OperatorPage } from "./operator/operator-page.tsx";
import { EndpointCard } from "./webhooks/endpoint-card.tsx";
import { EndpointForm } from "./webhooks/endpoint-form.tsx";

export function WebhooksPage() {
  return (
    <Page title="Webhooks" lead="Endpoints of yours that are notified of events, each request signed.">
      <Endpoints deployment={false} />
    </Page>
  );
}

/** Endpoints that receive the deployment's events, for operators. */
export function OperatorWebhooksPage() {
  return (
    <OperatorPage title="Deployment webhooks" lead="Endpoints that are notified of what needs an operator.">
      <Endpoints deployment />
    </OperatorPage>
  );
}

function Endpoints({ deployment }: { deployment: boolean }) {
  const { data, error, refetch } = useQuery(
    WebhookService.method.listWebhookEndpoints,
    { deployment },
    { refetchInterval: ({ state }) => (state.data?.endpoints.some(isSending) ? 1_000 : 5_000) },
  );
  const [search, setSearch] = useSearchParams();
  // In the URL, so that Back finds the form again.
  const creating = search.has("create");
  const setCreating = (open: boolean) => setSearch(open ? { create: "" } : {}, { replace: true });
  const [secret, setSecret] = useState<{ url: string; secret: string }>();
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!data)
    return (
      <Card>
        <Skeleton lines={3} />
      </Card>
    );
  const add = (
    <Button tone="primary" onClick={() => setCreating(true)}>
      Add endpoint
    </Button>
  );
  return (
    <>
      {secret && <SavedSecret {...secret} onSaved={() => setSecret(undefined)} />}
      {creating ? (
        <Card title="New endpoint">
          <EndpointForm
            types={data.knownTypes}
            deployment={deployment}
            onDone={(created) => {
              setCreating(false);
              setSecret(created);
            }}
          />
        </Card>
      ) : (
        data.endpoints.length > 0 && <div>{add}</div>
      )}
      {data.endpoints.map((endpoint) => (
        <EndpointCard
          key={endpoint.endpointId}
          endpoint={endpoint}
          types={data.knownTypes}
          deployment={deployment}
          onSecret={setSecret}
        />
      ))}
      {data.endpoints.length === 0 && !creating && (
        <Card>
          <EmptyState title="No endpoints yet" action={add}>
            An endpoint is a URL of yours that receives events as signed HTTP requests.
          </EmptyState>
        </Card>
      )}
    </>
  );
}

/** Whether its state changes in a moment. */
function isSending({ enabled, pending, failures }: WebhookEndpoint): boolean {
  return enabled && pending > 0 && failures === 0;
}

function SavedSecret({ url, secret, onSaved }: { url: string; secret: string; onSaved: () => void }) {
  const box = useRef<HTMLElement>(null);
  useEffect(() => box.current?.focus(), [secret]);
  return (
    <section className="new-secret" tabIndex={-1} ref={box} aria-labelledby="webhook-secret-title">
      <div>
        <h2 id="webhook-secret-title">Save the secret now</h2>
        <p className="soft">
          It verifies the requests to <code>{url}</code> and is shown only once. If you lose it, rotate it.
        </p>
      </div>
      <Code text={secret} label="webhook secret" wrap />
      <div className="actions">
        <Button tone="primary" icon="check" onClick={onSaved}>
          I have saved it
        </Button>
      </div>
    </section>
  );
}
