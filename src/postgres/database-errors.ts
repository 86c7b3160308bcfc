import { DatabaseError } from "pg";
import { ToolgateError } from "../domain/errors.ts";

/**
 * Serialization failure, deadlock, and unique violation (the same statement sent twice at once; PostgreSQL appendix A). The
 * transaction did not happen: it can be sent again.
 */
const ROLLED_BACK = new Set(["40001", "40P01", "23505"]);

/** Lock not available, and a cancelled statement. The transaction did not happen, after it has waited for somebody else. */
const BLOCKED = new Set(["55P03", "57014"]);

/** Shutdown, crash shutdown, cannot connect now, too many connections, connections not allowed, no such database. */
const UNAVAILABLE = new Set(["57P01", "57P02", "57P03", "53300", "55000", "3D000"]);

/** Read-only transaction (a standby, or a failover under way), and disk full. The transaction did not happen. */
const WRITES_REFUSED = new Set(["25006", "53100"]);

const SOCKET_ERRORS = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
]);

/** pg tells these by their text alone. */
const CONNECTION_LOST =
  /^(Connection terminated|timeout expired|timeout exceeded when trying to connect|Query read timeout|Client (has encountered a connection error|was closed))/;

/** UNAVAILABLE: the database is out of reach, or takes no writes, for all calls. */
export class DatabaseUnavailableError extends ToolgateError {
  constructor(cause: unknown) {
    const state = refusesWrites(cause) ? "takes no writes" : "is out of reach";
    super("UNAVAILABLE", `the database ${state}; repeat the call with the same idempotency key or proof`, {
      retryAfterSeconds: 2,
      cause,
    });
  }
}

/** UNAVAILABLE: the database is there, and something else is in the way of this statement. */
export class DatabaseBusyError extends ToolgateError {
  constructor(cause: unknown) {
    super("UNAVAILABLE", "the database is busy; repeat the call with the same idempotency key or proof", {
      retryAfterSeconds: 1,
      cause,
    });
  }
}

/** Whether the transaction certainly did not happen and would do so now. */
export function isRolledBack(error: unknown): boolean {
  return ROLLED_BACK.has(codeOf(error));
}

/** Whether the transaction certainly did not happen, and has waited for somebody else as long as it may. */
export function isBlocked(error: unknown): boolean {
  return BLOCKED.has(codeOf(error));
}

/** Whether the database answers, and takes no writes. */
export function refusesWrites(error: unknown): boolean {
  return WRITES_REFUSED.has(codeOf(error));
}

/**
 * Whether the connection was lost or could not be made, or takes no writes: a pool opens another one for the next statement. What became
 * of a statement whose connection was lost is unknown.
 */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isConnectionLost);
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  if (UNAVAILABLE.has(code) || WRITES_REFUSED.has(code) || SOCKET_ERRORS.has(code) || code.startsWith("08"))
    return true;
  return !(error instanceof DatabaseError) && CONNECTION_LOST.test(error.message);
}

/** The SQLSTATE, or the name of a socket's failure: pg's own errors have it, and MikroORM's, which are made of those. */
function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}
