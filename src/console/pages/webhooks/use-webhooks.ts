import { createConnectQueryKey } from "@connectrpc/connect-query";
import { WebhookService } from "#gen/toolgate/v1/webhook_service_pb.ts";
import { queryClient } from "../../rpc.ts";

const ENDPOINTS = createConnectQueryKey({
  schema: WebhookService.method.listWebhookEndpoints,
  cardinality: "finite",
});

const ATTEMPTS = createConnectQueryKey({
  schema: WebhookService.method.listWebhookAttempts,
  cardinality: "finite",
});

/** Loads endpoints and attempts again after a change; first the endpoints: a deleted one has no attempts. */
export async function reloadWebhooks(): Promise<void> {
  for (const queryKey of [ENDPOINTS, ATTEMPTS]) await queryClient.invalidateQueries({ queryKey });
}
