import type { Pool } from "pg";
import type { Metrics } from "../../app/operations/metrics.ts";
import { retries } from "./retry.ts";

/** Reports the pool's connections and the repeated statements whenever Prometheus asks. */
export function reportPool(pool: Pool, metrics: Metrics): void {
  let counted = retries();
  metrics.set("toolgate_database_connections_limit", pool.options.max);
  metrics.onScrape(() => {
    const { totalCount, idleCount, waitingCount } = pool;
    metrics.set("toolgate_database_connections", totalCount - idleCount, { state: "used" });
    metrics.set("toolgate_database_connections", idleCount, { state: "idle" });
    metrics.set("toolgate_database_waiting", waitingCount);
    const now = retries();
    metrics.count("toolgate_database_retries_total", now - counted);
    counted = now;
  });
}
