import process from "node:process";
import { measuredLedger } from "../app/calls/measured-ledger.ts";
import type { Metrics } from "../app/operations/metrics.ts";
import type { RequestObserver } from "../app/operations/request-record.ts";
import type { ServeConfig } from "../config/config.ts";
import type { MetricsServer } from "../metrics/index.ts";
import type { Readiness } from "../app/operations/readiness.ts";
import type { Postgres } from "../postgres/index.ts";
import { systemClock } from "../system.ts";
import { VERSION } from "../version.ts";
import { silentMetrics } from "../metrics/silent-metrics.ts";

/** Time for the database's check in an answer to Prometheus, ms. */
const READY_MS = 2_000;

/** The metrics and the server that exposes them; the server is undefined without METRICS_PORT. */
export interface OpenMetrics {
  readonly metrics: Metrics;
  /** Count requests; none without METRICS_PORT. */
  readonly observers: readonly RequestObserver[];
  readonly server: MetricsServer | undefined;
}

/** Loads the metrics library only when METRICS_PORT is set. */
export async function openMetrics({
  METRICS_PORT: port,
}: Pick<ServeConfig, "METRICS_PORT">): Promise<OpenMetrics> {
  if (port === undefined) return { metrics: silentMetrics, observers: [], server: undefined };
  const { MetricsServer, PrometheusMetrics } = await import("../metrics/index.ts");
  const metrics = new PrometheusMetrics();
  metrics.set("toolgate_build_info", 1, { version: VERSION, node: process.version });
  return { metrics, observers: [metrics.requests], server: new MetricsServer(metrics) };
}

/** Counts what the ledger and refunds do. */
export function measuredPostgres(postgres: Postgres, metrics: Metrics): Postgres {
  const { ledger, refunds } = postgres;
  return {
    ...postgres,
    ledger: measuredLedger(ledger, metrics, systemClock),
    refunds: {
      async refund(refund) {
        const result = await refunds.refund(refund);
        if (result.refunded)
          metrics.count("toolgate_refunded_microusd_total", Number(result.receipt.debited));
        return result;
      },
    },
  };
}

/** Reports the checks of /readyz whenever Prometheus asks. */
export function reportReadiness(metrics: Metrics, readiness: Pick<Readiness, "report">): void {
  metrics.onScrape(async () => {
    const { database, sandbox, draining } = await readiness.report(AbortSignal.timeout(READY_MS));
    metrics.set("toolgate_ready", database === "ok" ? 1 : 0, { check: "database" });
    metrics.set("toolgate_ready", sandbox === "passed" || sandbox === "off" ? 1 : 0, { check: "sandbox" });
    metrics.set("toolgate_ready", draining ? 0 : 1, { check: "draining" });
  });
}
