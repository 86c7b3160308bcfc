/** All metrics, named as Prometheus recommends (https://prometheus.io/docs/practices/naming/). */
export const METRICS = {
  toolgate_payments_credited_total: {
    type: "counter",
    help: "payments that nobody proved and that the watch credited",
    labels: [],
  },
  toolgate_payments_suspended_total: {
    type: "counter",
    help: "transfers that named no quote and went to suspense",
    labels: [],
  },
  toolgate_payments_finalized_total: {
    type: "counter",
    help: "payments that were found finalized",
    labels: [],
  },
  toolgate_payments_reversed_total: {
    type: "counter",
    help: "payments that vanished from the chain and were taken back: look at the accounts that fell below zero",
    labels: [],
  },
  toolgate_payments_reinstated_total: {
    type: "counter",
    help: "payments that were taken back and found finalized later",
    labels: [],
  },
  toolgate_payments_mismatched_total: {
    type: "counter",
    help: "payments whose finalized amount is not what was credited: look at them",
    labels: [],
  },
  toolgate_suspense_transfers: {
    type: "gauge",
    help: "transfers in suspense that wait for the operator",
    labels: [],
  },
  toolgate_suspense_microusd: { type: "gauge", help: "their sum, micro-USD", labels: [] },
  toolgate_treasury_difference_microusd: {
    type: "gauge",
    help: "what the treasury holds on the chain less what the books say, micro-USD; anything but 0 for long is wrong",
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
    help: "rounds of the treasury's work that failed",
    labels: ["work"],
  },
  toolgate_audit_violations: {
    type: "gauge",
    help: "violations that the last audit found, by invariant; anything but 0 is wrong",
    labels: ["invariant"],
  },
  toolgate_audit_timestamp_seconds: {
    type: "gauge",
    help: "when the last audit ended, Unix seconds",
    labels: [],
  },
  toolgate_relay_transactions_total: {
    type: "counter",
    help: "payments that the gasless relay signed, by the state that they came to",
    labels: ["state"],
  },
  toolgate_relay_refused_total: {
    type: "counter",
    help: "payments that the gasless relay did not claim, by the limit that was reached",
    labels: ["limit"],
  },
  toolgate_proofs_refused_total: {
    type: "counter",
    help: "proofs and relayed payments that were not looked up, as too many before them were not on the chain",
    labels: ["limit"],
  },
  toolgate_relay_lamports_today: {
    type: "gauge",
    help: "fees that the gasless relay has claimed on this day of UTC, on all instances, lamports",
    labels: [],
  },
  toolgate_fee_payer_lamports: { type: "gauge", help: "what the fee payer holds, lamports", labels: [] },
  toolgate_runs_released_total: {
    type: "counter",
    help: "runs released because their instance died or stalled",
    labels: [],
  },
  toolgate_sandbox_executions_total: {
    type: "counter",
    help: "executions of code that had an end, by how they ended",
    labels: ["status"],
  },
  toolgate_sandbox_failures_total: {
    type: "counter",
    help: "executions of code that the sandbox could not begin or lost; nobody was charged",
    labels: [],
  },
  toolgate_sandbox_running: {
    type: "gauge",
    help: "executions whose code this instance runs now; those that wait for their place are not in it",
    labels: [],
  },
  toolgate_sandbox_ready: {
    type: "gauge",
    help: "1 while this instance runs code, 0 while its sandbox is not seen to hold",
    labels: [],
  },
  toolgate_unpaid_work_total: {
    type: "counter",
    help: "calls of paid tools that failed after a server outside had worked for them, by tool; nothing was charged",
    labels: ["tool"],
  },
  toolgate_unpaid_work_refused_total: {
    type: "counter",
    help: "calls refused because their account had too many of those, by tool",
    labels: ["tool"],
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
  /** Sets a gauge. */
  set(name: MetricName, value: number, labels?: Readonly<Record<string, string>>): void;
}
