import type { Log } from "../../domain/core/log.ts";
import type { Job } from "./job.ts";
import type { Metrics } from "../operations/metrics.ts";
import type { Events, WebhookBacklog } from "../webhooks/webhook-endpoints.ts";
import { WebhookDeliverer, type WebhookDelivererDeps } from "../webhooks/webhook-deliverer.ts";

const [MINUTE_MS, HOUR_MS] = [60_000, 3_600_000];

/** Interval of queries for due endpoints, ms. */
const POLL_MS = 1_000;

export interface WebhookJobsOptions extends Omit<WebhookDelivererDeps, "pollMs"> {
  readonly events: Pick<Events, "addExpiringKeys">;
  /** Seals secrets again that an older sealing key seals. */
  readonly resealSecrets: () => Promise<void>;
  readonly backlog: () => Promise<WebhookBacklog>;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** Jobs of webhooks: of the leader, of every instance, and those that only measure. */
export function webhookJobs(options: WebhookJobsOptions): {
  leader: Job[];
  everywhere: Job[];
  measuring: Job[];
} {
  const deliverer = new WebhookDeliverer({ ...options, pollMs: POLL_MS });
  return {
    leader: [
      {
        name: "expiring_keys",
        afterMs: MINUTE_MS,
        everyMs: 10 * MINUTE_MS,
        limitMs: MINUTE_MS,
        run: () => options.events.addExpiringKeys(),
      },
      {
        name: "webhook_secrets",
        afterMs: MINUTE_MS,
        everyMs: MINUTE_MS,
        limitMs: MINUTE_MS,
        run: () => options.resealSecrets(),
      },
    ],
    everywhere: [
      {
        name: "webhooks",
        afterMs: POLL_MS,
        everyMs: POLL_MS,
        limitMs: 2 * HOUR_MS,
        run: (signal) => deliverer.run(signal, HOUR_MS),
      },
    ],
    measuring: [
      {
        name: "webhook_figures",
        afterMs: 0,
        everyMs: 10_000,
        limitMs: MINUTE_MS,
        run: () => reportBacklog(options),
      },
    ],
  };
}

async function reportBacklog({ backlog, metrics }: WebhookJobsOptions): Promise<void> {
  const { pending, oldestMs, overdueMs, failingEndpoints } = await backlog();
  metrics.set("toolgate_webhooks_pending", pending);
  metrics.set("toolgate_webhooks_oldest_seconds", oldestMs / 1_000);
  metrics.set("toolgate_webhooks_overdue_seconds", overdueMs / 1_000);
  metrics.set("toolgate_webhook_endpoints_failing", failingEndpoints);
}
