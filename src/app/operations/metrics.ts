import { CALL_METRICS, counter, gauge } from "./call-metrics.ts";

/** All other metrics, named as Prometheus recommends (https://prometheus.io/docs/practices/naming/). */
export const METRICS = {
  ...CALL_METRICS,
  toolgate_request_log_dropped_total: counter(
    "requests missing from their account's request log, by reason: full or database",
    "reason",
  ),
  toolgate_webhook_attempts_total: counter(
    "attempts to deliver webhooks, by outcome: delivered, failed, or disabled (the endpoint was)",
    "outcome",
  ),
  toolgate_webhooks_pending: gauge("events that enabled webhook endpoints have not received"),
  toolgate_webhooks_oldest_seconds: gauge("how long the oldest of them waits"),
  toolgate_webhooks_overdue_seconds: gauge(
    "how long an event waits although its endpoint may be tried; must return to 0",
  ),
  toolgate_webhook_endpoints_failing: gauge("webhook endpoints whose last attempt failed"),
  toolgate_payments_credited_total: counter("payments credited by the treasury watch without a proof"),
  toolgate_payments_suspended_total: counter("transfers without a quote, held in suspense"),
  toolgate_payments_finalized_total: counter("payments that became finalized"),
  toolgate_payments_reversed_total: counter(
    "payments reversed because they vanished from the chain: check accounts with a negative balance",
  ),
  toolgate_payments_reinstated_total: counter("reversed payments that became finalized later"),
  toolgate_payments_mismatched_total: counter(
    "payments whose finalized amount differs from the credit: check them",
  ),
  toolgate_suspense_transfers: gauge("transfers in suspense that wait for the operator"),
  toolgate_suspense_microusd: gauge("sum of the transfers in suspense, micro-USD"),
  toolgate_treasury_difference_microusd: gauge(
    "treasury balance on the chain minus the ledger, micro-USD; must return to 0",
  ),
  toolgate_certificate_expires_timestamp_seconds: gauge("when `TLS_CERT` expires, Unix seconds"),
  toolgate_watch_age_seconds: gauge("seconds since the watch last saw the head of the treasury's history"),
  toolgate_keeper_leading: gauge("1 on the instance that watches the treasury"),
  toolgate_keeper_failures_total: counter("failed runs of background jobs", "work"),
  toolgate_audit_violations: gauge(
    "violations found by the last audit, by invariant; must be 0",
    "invariant",
  ),
  toolgate_audit_timestamp_seconds: gauge("when the last audit ended, Unix seconds"),
  toolgate_full_audit_timestamp_seconds: gauge("when the oldest check of all history ran, Unix seconds"),
  toolgate_relay_transactions_total: counter("payments signed by the gasless relay, by their state", "state"),
  toolgate_relay_refused_total: counter(
    "payments refused by the gasless relay, by the limit reached",
    "limit",
  ),
  toolgate_facilitator_payments_total: counter(
    "x402 payments of the operator's other services, by `verify` or `settle` and by outcome",
    "operation",
    "outcome",
  ),
  toolgate_proofs_refused_total: counter(
    "proofs refused without a chain lookup, because too many before them were not on the chain",
    "limit",
  ),
  toolgate_relay_lamports_today: gauge(
    "fees claimed by the gasless relay today (UTC) on all instances, lamports",
  ),
  toolgate_fee_payer_lamports: gauge("SOL balance of the fee payer, lamports"),
  toolgate_runs_released_total: counter("runs released because their instance died or stalled"),
  toolgate_sandbox_executions_total: counter("finished code executions, by outcome", "status"),
  toolgate_sandbox_failures_total: counter(
    "code executions that the sandbox could not start or lost; not charged",
  ),
  toolgate_sandbox_running: gauge(
    "code executions running on this instance, without those waiting for a slot",
  ),
  toolgate_sandbox_ready: gauge("1 while this instance runs code, 0 while its sandbox self-test fails"),
  toolgate_unpaid_work_total: counter(
    "calls of paid tools that failed after an upstream server had worked for them, by tool; not charged",
    "tool",
  ),
  toolgate_unpaid_work_refused_total: counter(
    "calls refused because their account had too much unpaid work, by tool",
    "tool",
  ),
  toolgate_unpaid_time_seconds_total: counter(
    "CPU time of the event loop for requests that were not paid, by account or address (`by`)",
    "by",
  ),
  toolgate_unpaid_time_refused_total: counter(
    "requests refused because those of their account or address took too much time unpaid (`by`)",
    "by",
  ),
  toolgate_config_version: gauge(
    "version of the configuration that this instance uses; 0: its own, not stored",
  ),
  toolgate_config_behind: gauge(
    "versions between it and the one in force; not 0: this instance cannot use that one",
  ),
  toolgate_tool_unavailable: gauge(
    "1 for a custom tool that cannot be sold: its server does not describe it, or its settings are wrong",
    "tool",
  ),
  toolgate_spans_exported_total: counter("spans that the collector of traces accepted"),
  toolgate_spans_lost_total: counter("spans lost: the queue was full, or the export failed", "reason"),
  toolgate_foreign_names_total: counter(
    "names of another cell that a router sent here: keys, quotes, sessions, sign-ins, identifiers",
    "name",
  ),
  toolgate_workers: gauge("processes of this instance that serve, as `serve --workers` says"),
  toolgate_workers_restarted_total: counter("processes of this instance that ended and were started again"),
  toolgate_keys_refused_total: counter("requests with a forged, unknown, expired or revoked API key"),
} as const;

export type MetricName = keyof typeof METRICS;

/** Metrics sink. Labels are those declared in {@link METRICS}. */
export interface Metrics {
  count(name: MetricName, by?: number, labels?: Readonly<Record<string, string>>): void;
  observe(name: MetricName, value: number, labels?: Readonly<Record<string, string>>): void;
  /** Calls `read` before each answer to Prometheus; it sets gauges that are read rather than followed. */
  onScrape(read: () => unknown): void;
  set(name: MetricName, value: number, labels?: Readonly<Record<string, string>>): void;
}
