/** What a paid call awaits of its ports; `ledger.finish` by how the run ended. points.test.ts holds this list against the sources. */
export const PORT_CALLS = [
  "ledger.prior",
  "chain.verify",
  "ledger.credit",
  "ledger.balance",
  "ledger.begin",
  "tool.run",
  "unpaidWork.failed",
  "ledger.finish/completed",
  "ledger.finish/failed",
  "ledger.finish/cancelled",
] as const;

export type PortCall = (typeof PORT_CALLS)[number];

/** A line of an instance at which it can be struck: right before it asks a port, and right after it was answered. */
export type PortPoint = `${PortCall}:${"before" | "after"}`;

export const PORT_POINTS: readonly PortPoint[] = PORT_CALLS.flatMap((call) => [
  `${call}:before` as const,
  `${call}:after` as const,
]);

/** The statements of the money path and of what works beside it, by their prepared names. */
const STATEMENTS = [
  "ledger-prior",
  "ledger-begin",
  "ledger-finish",
  "ledger-credit",
  "leases-beat",
  "sweeper-sweep",
  "rate-limiter-take",
  "unpaid-work-add",
  "treasury-lead",
  "treasury-unrecorded",
  "treasury-record",
  "treasury-advance-watch",
  "treasury-reverse",
] as const;

/**
 * When the line to the database fails: before a statement reaches it, after it has been done and before its answer arrives, after
 * the answer, or so that the statement arrives long after the sender has given it up.
 */
const MOMENTS = ["unsent", "unanswered", "answered", "late"] as const;

export type Moment = (typeof MOMENTS)[number];

/** A moment of a statement on its way. */
export type LinePoint = `${(typeof STATEMENTS)[number]}:${Moment}`;

export const LINE_POINTS: readonly LinePoint[] = STATEMENTS.flatMap((statement) =>
  MOMENTS.map((moment): LinePoint => `${statement}:${moment}`),
);

export type Point = PortPoint | LinePoint;

/** What happens there. */
export type Action =
  /** SIGKILL, at that very line. */
  | "kill"
  /** SIGSTOP, at that very line; SIGCONT after more than the lease. */
  | "stall"
  /** The line is slow. */
  | "delay"
  /** The tool fails. */
  | "fail"
  /** The connection to the database is cut. */
  | "cut";

/** One fault of the plan: strikes at the next pass of its point. */
export interface Order {
  readonly point: Point;
  readonly action: Action;
  /** How long a stall or a delay lasts, ms. */
  readonly ms: number;
}

/** Whether the point lies on the line to the database, and not in the instance. */
export function isLinePoint(point: Point): point is LinePoint {
  return LINE_POINTS.some((one) => one === point);
}
