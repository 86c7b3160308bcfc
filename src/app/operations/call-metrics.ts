/** Bounds of times, seconds. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;
const SLOW = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300] as const;
const ITEMS = [1, 2, 5, 10, 20, 50, 100, 200] as const;

type Labels = readonly string[];

export const counter = <const L extends Labels>(help: string, ...labels: L) =>
  ({ type: "counter", help, labels }) as const;
export const gauge = <const L extends Labels>(help: string, ...labels: L) =>
  ({ type: "gauge", help, labels }) as const;
const histogram = <const L extends Labels>(buckets: readonly number[], help: string, ...labels: L) =>
  ({ type: "histogram", help, labels, buckets }) as const;

/** Metrics of all requests; a {@link RequestRecord} has their values. */
export const REQUEST_METRICS = {
  toolgate_requests_total: counter(
    "requests by transport, method, tool and HTTP status of the outcome, on every transport",
    "transport",
    "method",
    "tool",
    "status",
  ),
  toolgate_request_duration_seconds: histogram(
    SECONDS,
    "seconds from the arrival of a request to its response",
    "transport",
    "method",
    "tool",
  ),
  toolgate_request_overhead_seconds: histogram(
    SECONDS,
    "seconds of successful calls with a run, without the time in the tool and for the payment",
    "transport",
  ),
} as const;

/** Metrics of what calls do: money, batches, the chain, models, custom tools, the sandbox. */
export const CALL_METRICS = {
  toolgate_build_info: gauge("1; the labels name the release and Node", "version", "node"),
  toolgate_ready: gauge("1 while the check of /readyz passes: database, sandbox, clock, draining", "check"),
  toolgate_clock_ahead_seconds: gauge(
    "how far the clock is ahead of the database's; of=chain: only if it is behind",
    "of",
  ),
  toolgate_rate_limited_total: counter(
    "requests refused by a rate limit, of the key or of the account",
    "limit",
  ),
  toolgate_funnel_total: counter(
    "steps of purchases: quoted (402), proved (proof arrived), paid (proof accepted), captured",
    "step",
  ),
  toolgate_replays_total: counter("calls answered with the stored result of an earlier one, and not charged"),
  toolgate_authorizations_total: counter("results of authorizing calls", "result"),
  toolgate_captures_total: counter("ends of runs: captured, released, or lost to another instance", "result"),
  toolgate_charged_microusd_total: counter("charges for calls by payment method, micro-USD", "method"),
  toolgate_refunded_microusd_total: counter(
    "refunds through this instance, without the command line's, micro-USD",
  ),
  toolgate_credited_microusd_total: counter(
    "payments credited with a proof by method, micro-USD; the treasury watch counts its own",
    "method",
  ),
  toolgate_credit_delay_seconds: histogram(
    SLOW,
    "seconds from a payment's block to its credit with a proof",
    "method",
  ),
  toolgate_batch_items: histogram(ITEMS, "calls that share a transaction, by kind of batch", "batch"),
  toolgate_batch_wait_seconds: histogram(
    SECONDS,
    "seconds that the first call of a batch waited for it",
    "batch",
  ),
  toolgate_batch_duration_seconds: histogram(
    SECONDS,
    "seconds that a batch took in the database, with retries",
    "batch",
  ),
  toolgate_database_connections: gauge("connections of the pool, in use or idle", "state"),
  toolgate_database_connections_limit: gauge("DATABASE_POOL: connections that the pool may open"),
  toolgate_database_waiting: gauge("statements that wait for a connection"),
  toolgate_database_retries_total: counter("statements repeated after a lost connection or a rollback"),
  toolgate_rpc_requests_total: counter(
    "requests to Solana RPC endpoints by outcome: ok, error (of the request) or the kind of failure",
    "endpoint",
    "method",
    "outcome",
  ),
  toolgate_rpc_duration_seconds: histogram(
    SECONDS,
    "seconds of requests to Solana RPC endpoints",
    "endpoint",
    "method",
  ),
  toolgate_fee_payer_low_lamports: gauge("GASLESS_LOW_LAMPORTS"),
  toolgate_relay_lamports_limit: gauge("GASLESS_DAILY_LAMPORTS"),
  toolgate_model_requests_total: counter(
    "requests to model servers by outcome: ok, busy (also by the breaker) or failed",
    "upstream",
    "model",
    "outcome",
  ),
  toolgate_model_breaker_open: gauge(
    "1 while the circuit breaker of a model server is open for all accounts",
    "upstream",
  ),
  toolgate_model_duration_seconds: histogram(
    SLOW,
    "seconds of completions by model servers",
    "upstream",
    "model",
  ),
  toolgate_model_first_token_seconds: histogram(
    SLOW,
    "seconds until the first chunk of a streamed completion",
    "upstream",
    "model",
  ),
  toolgate_model_tokens_total: counter(
    "tokens that model servers counted: input and output",
    "upstream",
    "model",
    "kind",
  ),
  toolgate_backend_requests_total: counter(
    "calls of custom tools' servers by protocol and outcome: ok, busy or failed",
    "tool",
    "protocol",
    "outcome",
  ),
  toolgate_backend_duration_seconds: histogram(
    SLOW,
    "seconds of calls of custom tools' servers",
    "tool",
    "protocol",
  ),
  toolgate_sandbox_waiting: gauge("code executions that wait for a slot or start"),
  toolgate_sandbox_start_seconds: histogram(SECONDS, "seconds until code runs: queue and start"),
  toolgate_sandbox_run_seconds: histogram(SLOW, "seconds that code ran"),
} as const;
