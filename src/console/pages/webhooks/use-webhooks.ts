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

/** Loads endpoints and attempts again after a change. */
export async function reloadWebhooks(): Promise<void> {
  await Promise.all(
    [ENDPOINTS, ATTEMPTS].map(async (queryKey) => queryClient.invalidateQueries({ queryKey })),
  );
}
