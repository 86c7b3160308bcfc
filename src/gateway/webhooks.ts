import type { ServeConfig } from "../config/config.ts";
import type { Log } from "../domain/core/log.ts";
import type { Postgres } from "../postgres/index.ts";
import type { ServiceBinding } from "../transport/services/service-impl.ts";
import { webhookService } from "../transport/services/webhooks/webhook-service.ts";

interface Parts {
  readonly config: Pick<ServeConfig, "WEBHOOK_NETWORK">;
  readonly postgres: Pick<Postgres, "webhooks" | "operatorActions">;
  readonly log: Log;
}

/** The service of webhook endpoints, for API keys and for sessions of the console. */
export function createWebhookService({ config, postgres, log }: Parts): ServiceBinding {
  return webhookService({
    endpoints: postgres.webhooks.endpoints,
    http: config.WEBHOOK_NETWORK === "any",
    actions: postgres.operatorActions,
    log,
  });
}
