/**
 * Port calls of a paid call; `ledger.release` by outcome, `tool.write` for a part of a stream. points.test.ts
 * compares the list with the sources.
 */
export const PORT_CALLS = [
  "ledger.findPrior",
  "chain.verify",
  "ledger.credit",
  "ledger.balance",
  "ledger.authorize",
  "tool.run",
  "tool.write",
  "unpaidWork.failed",
  "ledger.capture",
  "ledger.release/failed",
  "ledger.release/cancelled",
] as const;

export type PortCall = (typeof PORT_CALLS)[number];

/** A fault point in an instance: before or after a port call. */
export type PortPoint = `${PortCall}:${"before" | "after"}`;

export const PORT_POINTS: readonly PortPoint[] = PORT_CALLS.flatMap((call) => [
  `${call}:before` as const,
  `${call}:after` as const,
]);

/** Prepared statements of the money path and the background jobs, by name. */
const STATEMENTS = [
  "ledger-prior",
  "ledger-start",
  "ledger-authorize",
  "ledger-capture",
  "ledger-end",
  "ledger-credit",
  "leases-beat",
  "sweeper-sweep",
  "rate-limiter-take",
  "unpaid-work-add",
  "relay-claim",
  "relay-move",
  "wallet-accounts-open",
  "treasury-lead",
  "treasury-unrecorded",
  "treasury-record",
  "treasury-advance-watch",
  "treasury-reverse",
] as const;

/**
 * When the connection fails: before the statement arrives, after its execution but before the response, after
 * the response, or so that the statement arrives long after its sender gave up.
 */
const MOMENTS = ["unsent", "unanswered", "answered", "late"] as const;

export type Moment = (typeof MOMENTS)[number];

/** A fault point of a statement. */
export type LinePoint = `${(typeof STATEMENTS)[number]}:${Moment}`;

export const LINE_POINTS: readonly LinePoint[] = STATEMENTS.flatMap((statement) =>
  MOMENTS.map((moment): LinePoint => `${statement}:${moment}`),
);

export type Point = PortPoint | LinePoint;

/** Faults. */
export type Action =
  /** SIGKILL at exactly that point. */
  | "kill"
  /** SIGSTOP, at that very line; SIGCONT after more than the lease. */
  | "stall"
  /** The line is slow. */
  | "delay"
  /** The tool fails. */
  | "fail"
  /** The connection to the database is cut. */
  | "cut";

/** A planned fault; strikes when its point is next passed. */
export interface Order {
  readonly point: Point;
  readonly action: Action;
  /** Duration of a stall or delay, ms. */
  readonly ms: number;
}

/** Whether the point is in the database proxy. */
export function isLinePoint(point: Point): point is LinePoint {
  return LINE_POINTS.some((one) => one === point);
}
