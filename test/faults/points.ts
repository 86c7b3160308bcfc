/**
 * Port calls of a paid call; `ledger.release` by outcome, `tool.write` for a part of a stream. points.test.ts
 * compares the list with the sources.
 */
export const PORT_CALLS = [
  ...["ledger.findPrior", "chain.verify", "ledger.credit", "ledger.balance", "ledger.authorize"],
  // Only calls of applications beyond a limit reach it.
  "ledger.isAllowedOnce",
  ...["tool.run", "tool.write", "unpaidWork.failed"],
  ...["ledger.capture", "ledger.release/failed", "ledger.release/cancelled"],
];

/** Fault points in an instance: before or after a port call. */
export const PORT_POINTS = PORT_CALLS.flatMap((call) => [`${call}:before`, `${call}:after`]);

/** Prepared statements of the money path and the background jobs, by name. */
const STATEMENTS = [
  ...["ledger-prior", "ledger-start", "ledger-authorize", "ledger-capture", "ledger-end", "ledger-credit"],
  ...["leases-beat", "sweeper-sweep", "rate-limiter-take", "unpaid-work-add", "relay-claim", "relay-move"],
  ...["wallet-accounts-open", "treasury-lead", "treasury-unrecorded", "treasury-record"],
  ...["treasury-advance-watch", "treasury-reverse"],
];

/**
 * When the connection fails: before the statement arrives, after its execution but before the response, after
 * the response, or so that the statement arrives long after its sender gave up.
 */
const MOMENTS = ["unsent", "unanswered", "answered", "late"];

/** Fault points of statements, in the database proxy. */
export const LINE_POINTS = STATEMENTS.flatMap((name) => MOMENTS.map((moment) => `${name}:${moment}`));

/** What a point is about and when it is, such as `ledger-end` and `late`. */
export function partsOf(point: string): [what: string, when: string] {
  const at = point.lastIndexOf(":");
  return [point.slice(0, at), point.slice(at + 1)];
}

/** Faults. */
export const ACTIONS = [
  /** SIGKILL at exactly that point. */
  "kill",
  /** SIGSTOP, at that very line; SIGCONT after more than the lease. */
  "stall",
  /** The line is slow. */
  "delay",
  /** The tool fails. */
  "fail",
  /** The connection to the database is cut. */
  "cut",
] as const;

export type Action = (typeof ACTIONS)[number];

/** A planned fault; strikes when its point is next passed. */
export interface Order {
  readonly point: string;
  readonly action: Action;
  /** Duration of a stall or delay, ms. */
  readonly ms: number;
}

/** Whether the point is in the database proxy. */
export function isLinePoint(point: string): boolean {
  return LINE_POINTS.includes(point);
}

/** Counts the faults that struck. */
export class Strikes {
  readonly actions = new Map<string, number>(ACTIONS.map((action) => [action, 0]));
  readonly points = new Map<string, number>();

  count({ point, action }: Order): void {
    this.actions.set(action, (this.actions.get(action) ?? 0) + 1);
    this.points.set(point, (this.points.get(point) ?? 0) + 1);
  }

  get never(): string[] {
    return [...PORT_POINTS, ...LINE_POINTS].filter((point) => !this.points.has(point));
  }
}
