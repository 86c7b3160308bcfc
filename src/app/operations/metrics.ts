import { CALL_METRICS } from "./call-metrics.ts";

/** All other metrics, named as Prometheus recommends (https://prometheus.io/docs/practices/naming/). */
export const METRICS = {
  ...CALL_METRICS,
  toolgate_request_log_dropped_total: {
    type: "counter",
    help: "requests missing from their account's request log, by reason: full or database",
    labels: ["reason"],
  },
  toolgate_webhook_attempts_total: {
    type: "counter",
    help: "attempts to deliver webhooks, by outcome: delivered, failed, or disabled (the endpoint was)",
    labels: ["outcome"],
  },
  toolgate_webhooks_pending: {
    type: "gauge",
    help: "events that enabled webhook endpoints have not received",
    labels: [],
  },
  toolgate_webhooks_oldest_seconds: {
    type: "gauge",
    help: "how long the oldest of them waits",
    labels: [],
  },
  toolgate_webhooks_overdue_seconds: {
    type: "gauge",
    help: "how long an event waits although its endpoint may be tried; must return to 0",
    labels: [],
  },
  toolgate_webhook_endpoints_failing: {
    type: "gauge",
    help: "webhook endpoints whose last attempt failed",
    labels: [],
  },
  toolgate_payments_credited_total: {
    type: "counter",
    help: "payments credited by the treasury watch without a proof",
    labels: [],
  },
  toolgate_payments_suspended_total: {
    type: "counter",
    help: "transfers without a quote, held in suspense",
    labels: [],
  },
  toolgate_payments_finalized_total: {
    type: "counter",
    help: "payments that became finalized",
    labels: [],
  },
  toolgate_payments_reversed_total: {
    type: "counter",
    help: "payments reversed because they vanished from the chain: check accounts with a negative balance",
    labels: [],
  },
  toolgate_payments_reinstated_total: {
    type: "counter",
    help: "reversed payments that became finalized later",
    labels: [],
  },
  toolgate_payments_mismatched_total: {
    type: "counter",
    help: "payments whose finalized amount differs from the credit: check them",
    labels: [],
  },
  toolgate_suspense_transfers: {
    type: "gauge",
    help: "transfers in suspense that wait for the operator",
    labels: [],
  },
  toolgate_suspense_microusd: {
    type: "gauge",
    help: "sum of the transfers in suspense, micro-USD",
    labels: [],
  },
  toolgate_treasury_difference_microusd: {
    type: "gauge",
    help: "treasury balance on the chain minus the ledger, micro-USD; must return to 0",
    labels: [],
  },
  toolgate_watch_age_seconds: {
    type: "gauge",
    help: "seconds since the watch last saw the head of the treasury's history",
    labels: [],
  },
  toolgate_keeper_leading: { type: "gauge", help: "1 on the instance that watches the treasury", labels: [] },
  toolgate_keeper_failures_total: {
    type: "counter",
    help: "failed runs of background jobs",
    labels: ["work"],
  },
  toolgate_audit_violations: {
    type: "gauge",
    help: "violations found by the last audit, by invariant; must be 0",
    labels: ["invariant"],
  },
  toolgate_audit_timestamp_seconds: {
    type: "gauge",
    help: "when the last audit ended, Unix seconds",
    labels: [],
  },
  toolgate_relay_transactions_total: {
    type: "counter",
    help: "payments signed by the gasless relay, by their state",
    labels: ["state"],
  },
  toolgate_relay_refused_total: {
    type: "counter",
    help: "payments refused by the gasless relay, by the limit reached",
    labels: ["limit"],
  },
  toolgate_proofs_refused_total: {
    type: "counter",
    help: "proofs refused without a chain lookup, because too many before them were not on the chain",
    labels: ["limit"],
  },
  toolgate_relay_lamports_today: {
    type: "gauge",
    help: "fees claimed by the gasless relay today (UTC) on all instances, lamports",
    labels: [],
  },
  toolgate_fee_payer_lamports: { type: "gauge", help: "SOL balance of the fee payer, lamports", labels: [] },
  toolgate_runs_released_total: {
    type: "counter",
    help: "runs released because their instance died or stalled",
    labels: [],
  },
  toolgate_sandbox_executions_total: {
    type: "counter",
    help: "finished code executions, by outcome",
    labels: ["status"],
  },
  toolgate_sandbox_failures_total: {
    type: "counter",
    help: "code executions that the sandbox could not start or lost; not charged",
    labels: [],
  },
  toolgate_sandbox_running: {
    type: "gauge",
    help: "code executions running on this instance, without those waiting for a slot",
    labels: [],
  },
  toolgate_sandbox_ready: {
    type: "gauge",
    help: "1 while this instance runs code, 0 while its sandbox self-test fails",
    labels: [],
  },
  toolgate_unpaid_work_total: {
    type: "counter",
    help:
      "calls of paid tools that failed after an upstream server had worked for them, by tool; not " +
      "charged",
    labels: ["tool"],
  },
  toolgate_unpaid_work_refused_total: {
    type: "counter",
    help: "calls refused because their account had too much unpaid work, by tool",
    labels: ["tool"],
  },
  toolgate_config_version: {
    type: "gauge",
    help: "version of the configuration that this instance uses; 0: its own, not stored",
    labels: [],
  },
  toolgate_config_behind: {
    type: "gauge",
    help: "versions between it and the one in force; not 0: this instance cannot use that one",
    labels: [],
  },
  toolgate_spans_exported_total: {
    type: "counter",
    help: "spans that the collector of traces accepted",
    labels: [],
  },
  toolgate_spans_lost_total: {
    type: "counter",
    help: "spans lost: the queue was full, or the export failed",
    labels: ["reason"],
  },
  toolgate_foreign_names_total: {
    type: "counter",
    help: "names of another cell that a router sent here: keys, quotes, sessions, sign-ins, identifiers",
    labels: ["name"],
  },
  toolgate_keys_refused_total: {
    type: "counter",
    help: "requests with a forged, unknown, expired or revoked API key",
    labels: [],
  },
} as const;

export type MetricName = keyof typeof METRICS;

/** Metrics sink. Labels are those declared in {@link METRICS}. */
export interface Metrics {
  /** Increments a counter. */
  count(name: MetricName, by?: number, labels?: Readonly<Record<string, string>>): void;
  /** Adds a value to a histogram. */
  observe(name: MetricName, value: number, labels?: Readonly<Record<string, string>>): void;
  /** Calls `read` before each answer to Prometheus; it sets gauges that are read rather than followed. */
  onScrape(read: () => unknown): void;
  /** Sets a gauge. */
  set(name: MetricName, value: number, labels?: Readonly<Record<string, string>>): void;
}
