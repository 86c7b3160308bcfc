/** Bounds of times, seconds. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;
const SLOW = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300] as const;
const ITEMS = [1, 2, 5, 10, 20, 50, 100, 200] as const;

/** Metrics of all requests; a {@link RequestRecord} has their values. */
export const REQUEST_METRICS = {
  toolgate_requests_total: {
    type: "counter",
    help: "requests by transport, method, tool and HTTP status of the outcome, on every transport",
    labels: ["transport", "method", "tool", "status"],
  },
  toolgate_request_duration_seconds: {
    type: "histogram",
    help: "seconds from the arrival of a request to its response",
    labels: ["transport", "method", "tool"],
    buckets: SECONDS,
  },
  toolgate_request_overhead_seconds: {
    type: "histogram",
    help: "seconds of successful calls with a run, without the time in the tool and for the payment",
    labels: ["transport"],
    buckets: SECONDS,
  },
} as const;

/** Metrics of what calls do: money, batches, the chain, models, custom tools, the sandbox. */
export const CALL_METRICS = {
  toolgate_build_info: {
    type: "gauge",
    help: "1; the labels name the release and Node",
    labels: ["version", "node"],
  },
  toolgate_ready: {
    type: "gauge",
    help: "1 while the check of /readyz passes: database, sandbox, draining",
    labels: ["check"],
  },
  toolgate_rate_limited_total: {
    type: "counter",
    help: "requests refused by a rate limit, of the key or of the account",
    labels: ["limit"],
  },
  toolgate_funnel_total: {
    type: "counter",
    help: "steps of purchases: quoted (402), proved (proof arrived), paid (proof accepted), captured",
    labels: ["step"],
  },
  toolgate_replays_total: {
    type: "counter",
    help: "calls answered with the stored result of an earlier one, and not charged",
    labels: [],
  },
  toolgate_authorizations_total: {
    type: "counter",
    help: "results of authorizing calls",
    labels: ["result"],
  },
  toolgate_captures_total: {
    type: "counter",
    help: "ends of runs: captured, released, or lost to another instance",
    labels: ["result"],
  },
  toolgate_charged_microusd_total: {
    type: "counter",
    help: "charges for calls by payment method, micro-USD",
    labels: ["method"],
  },
  toolgate_refunded_microusd_total: {
    type: "counter",
    help: "refunds through this instance, without the command line's, micro-USD",
    labels: [],
  },
  toolgate_credited_microusd_total: {
    type: "counter",
    help: "payments credited with a proof by method, micro-USD; the treasury watch counts its own",
    labels: ["method"],
  },
  toolgate_credit_delay_seconds: {
    type: "histogram",
    help: "seconds from a payment's block to its credit with a proof",
    labels: ["method"],
    buckets: SLOW,
  },
  toolgate_batch_items: {
    type: "histogram",
    help: "calls that share a transaction, by kind of batch",
    labels: ["batch"],
    buckets: ITEMS,
  },
  toolgate_batch_wait_seconds: {
    type: "histogram",
    help: "seconds that the first call of a batch waited for it",
    labels: ["batch"],
    buckets: SECONDS,
  },
  toolgate_batch_duration_seconds: {
    type: "histogram",
    help: "seconds that a batch took in the database, with retries",
    labels: ["batch"],
    buckets: SECONDS,
  },
  toolgate_database_connections: {
    type: "gauge",
    help: "connections of the pool, in use or idle",
    labels: ["state"],
  },
  toolgate_database_connections_limit: {
    type: "gauge",
    help: "DATABASE_POOL: connections that the pool may open",
    labels: [],
  },
  toolgate_database_waiting: { type: "gauge", help: "statements that wait for a connection", labels: [] },
  toolgate_database_retries_total: {
    type: "counter",
    help: "statements repeated after a lost connection or a rollback",
    labels: [],
  },
  toolgate_rpc_requests_total: {
    type: "counter",
    help: "requests to Solana RPC endpoints by outcome: ok, error (of the request) or the kind of failure",
    labels: ["endpoint", "method", "outcome"],
  },
  toolgate_rpc_duration_seconds: {
    type: "histogram",
    help: "seconds of requests to Solana RPC endpoints",
    labels: ["endpoint", "method"],
    buckets: SECONDS,
  },
  toolgate_fee_payer_low_lamports: { type: "gauge", help: "GASLESS_LOW_LAMPORTS", labels: [] },
  toolgate_relay_lamports_limit: { type: "gauge", help: "GASLESS_DAILY_LAMPORTS", labels: [] },
  toolgate_model_requests_total: {
    type: "counter",
    help: "requests to model servers by outcome: ok, busy (also by the breaker) or failed",
    labels: ["upstream", "model", "outcome"],
  },
  toolgate_model_breaker_open: {
    type: "gauge",
    help: "1 while the circuit breaker of a model server is open for all accounts",
    labels: ["upstream"],
  },
  toolgate_model_duration_seconds: {
    type: "histogram",
    help: "seconds of completions by model servers",
    labels: ["upstream", "model"],
    buckets: SLOW,
  },
  toolgate_model_first_token_seconds: {
    type: "histogram",
    help: "seconds until the first chunk of a streamed completion",
    labels: ["upstream", "model"],
    buckets: SLOW,
  },
  toolgate_model_tokens_total: {
    type: "counter",
    help: "tokens that model servers counted: input and output",
    labels: ["upstream", "model", "kind"],
  },
  toolgate_backend_requests_total: {
    type: "counter",
    help: "calls of custom tools' servers by protocol and outcome: ok, busy or failed",
    labels: ["tool", "protocol", "outcome"],
  },
  toolgate_backend_duration_seconds: {
    type: "histogram",
    help: "seconds of calls of custom tools' servers",
    labels: ["tool", "protocol"],
    buckets: SLOW,
  },
  toolgate_sandbox_waiting: {
    type: "gauge",
    help: "code executions that wait for a slot or start",
    labels: [],
  },
  toolgate_sandbox_start_seconds: {
    type: "histogram",
    help: "seconds until code runs: queue and start",
    labels: [],
    buckets: SECONDS,
  },
  toolgate_sandbox_run_seconds: {
    type: "histogram",
    help: "seconds that code ran",
    labels: [],
    buckets: SLOW,
  },
} as const;
