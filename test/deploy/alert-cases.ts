/** Input series of promtool by name; each value holds from minute 0. */
type Series = Readonly<Record<string, string>>;

/** When an alert fires, and when it stays silent. */
interface AlertCase {
  readonly fires: Series;
  readonly silent: Series;
  /** Its `for`, if that takes hours. */
  readonly hours?: number;
}

const call = (status: number) => `toolgate_requests_total{method="tools/call",status="${status}"}`;
const bucket = (name: string, le: string) => `${name}_bucket{le="${le}"}`;
const constant = (value: number) => `${value}x100`;
const growing = (by: number) => `0+${by}x100`;
const gauge = (series: string, fires: number, silent: number): AlertCase => ({
  fires: { [series]: constant(fires) },
  silent: { [series]: constant(silent) },
});
const counter = (series: string): AlertCase => ({
  fires: { [series]: growing(1) },
  silent: { [series]: constant(5) },
});
const ratio = (bad: string, good: string, fires: number, silent: number): AlertCase => ({
  fires: { [bad]: growing(fires), [good]: growing(100 - fires) },
  silent: { [bad]: growing(silent), [good]: growing(100 - silent) },
});
const slow = (name: string, le: string): AlertCase => ({
  fires: { [bucket(name, le)]: growing(80), [`${name}_count`]: growing(100) },
  silent: { [bucket(name, le)]: growing(99), [`${name}_count`]: growing(100) },
});

export const ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  ToolgateCallsFailing: ratio(call(503), call(200), 2, 0.4),
  ToolgateCallsFailingSlowly: ratio(call(503), call(200), 2, 0.4),
  ToolgateCallsSlow: slow("toolgate_request_overhead_seconds", "0.5"),
  ToolgateCreditsLate: slow("toolgate_credit_delay_seconds", "30"),
  ToolgateAuditViolation: gauge('toolgate_audit_violations{invariant="balanced"}', 1, 0),
  ToolgateAuditStale: gauge("toolgate_audit_timestamp_seconds", -12_000, 0),
  ToolgateTreasuryDifference: gauge("toolgate_treasury_difference_microusd", -5, 0),
  ToolgateSuspenseOld: { ...gauge("toolgate_suspense_transfers", 1, 0), hours: 24 },
  ToolgatePaymentsReversed: counter("toolgate_payments_reversed_total"),
  ToolgatePaymentsMismatched: counter("toolgate_payments_mismatched_total"),
  ToolgateWatchStale: gauge("toolgate_watch_age_seconds", 61, 5),
  ToolgateNoLeader: gauge("toolgate_keeper_leading", 0, 1),
  ToolgateFeePayerLow: {
    fires: { toolgate_fee_payer_lamports: constant(10), toolgate_fee_payer_low_lamports: constant(20) },
    silent: { toolgate_fee_payer_lamports: constant(0), toolgate_fee_payer_low_lamports: constant(0) },
  },
  ToolgateRelayBudgetLow: {
    fires: { toolgate_relay_lamports_today: constant(81), toolgate_relay_lamports_limit: constant(100) },
    silent: { toolgate_relay_lamports_today: constant(0), toolgate_relay_lamports_limit: constant(0) },
  },
  ToolgateRpcEndpointFailing: ratio(
    'toolgate_rpc_requests_total{endpoint="a",outcome="timeout"}',
    'toolgate_rpc_requests_total{endpoint="a",outcome="ok"}',
    60,
    10,
  ),
  ToolgateInstanceDown: gauge('up{job="toolgate"}', 0, 1),
  ToolgateDatabaseUnavailable: gauge('toolgate_ready{check="database"}', 0, 1),
  ToolgateClockWrong: gauge('toolgate_clock_ahead_seconds{of="database"}', -6, 4),
  ToolgatePoolExhausted: gauge("toolgate_database_waiting", 3, 0),
  ToolgateEventLoopSlow: gauge('nodejs_eventloop_lag_p99_seconds{job="toolgate"}', 0.4, 0.02),
  ToolgateJobsFailing: counter('toolgate_keeper_failures_total{work="watch"}'),
  ToolgateConfigBehind: gauge("toolgate_config_behind", 1, 0),
  ToolgateToolUnavailable: gauge('toolgate_tool_unavailable{tool="note"}', 1, 0),
  ToolgateSandboxFailing: gauge('toolgate_ready{check="sandbox"}', 0, 1),
  ToolgateModelsFailing: ratio(
    'toolgate_model_requests_total{upstream="a",outcome="failed"}',
    'toolgate_model_requests_total{upstream="a",outcome="ok"}',
    60,
    10,
  ),
  ToolgateModelServerPaused: gauge('toolgate_model_breaker_open{upstream="a"}', 1, 0),
  ToolgateWebhooksLate: gauge("toolgate_webhooks_overdue_seconds", 121, 1),
  ToolgateSpansLost: counter('toolgate_spans_lost_total{reason="export"}'),
};

/** Minutes until an alert is looked for; its `for` is over then. */
const USUAL = 90;

/** Alerts that fire when nothing is scraped; all others ask for series of an instance. */
const WITHOUT_SERIES = ["ToolgateNoLeader", "ToolgateInstanceDown"];

/**
 * Files of `promtool test rules`: in the first test of each all alerts fire, in the second none, in the third
 * those of no series. Alerts that take a day have a file of their own: promtool evaluates every rule at every
 * step.
 */
export function promtoolTests(rules: string): object[] {
  const cases = Object.entries(ALERT_CASES);
  const usual = cases.filter(([, { hours }]) => hours === undefined);
  const slow = cases.filter(([, { hours }]) => hours !== undefined);
  return [fileOf(rules, usual, 1, `${USUAL}m`), fileOf(rules, slow, 60, "25h")];
}

function fileOf(rules: string, cases: readonly [string, AlertCase][], minutes: number, at: string): object {
  const test = (series: readonly Series[], fires: (alert: string) => boolean) => ({
    interval: `${minutes}m`,
    input_series: Object.entries(Object.assign({}, ...series)).map(([name, values]) => ({
      series: name,
      values,
    })),
    promql_expr_test: cases.map(([alert]) => ({
      expr: `count(ALERTS{alertname="${alert}", alertstate="firing"}) > bool 0`,
      eval_time: at,
      exp_samples: fires(alert) ? [{ labels: "{}", value: 1 }] : [],
    })),
  });
  const tests = [
    test(
      cases.map(([, { fires }]) => fires),
      () => true,
    ),
    test(
      cases.map(([, { silent }]) => silent),
      () => false,
    ),
    test([], (alert) => WITHOUT_SERIES.includes(alert)),
  ];
  return { rule_files: [rules], evaluation_interval: `${minutes}m`, tests };
}
