import { DatabaseError } from "pg";
import { ToolgateError } from "../../domain/core/errors.ts";

/**
 * Serialization failure, deadlock, unique violation (a concurrent duplicate; PostgreSQL appendix A). Rolled
 * back: safe to retry.
 */
const ROLLED_BACK = new Set(["40001", "40P01", "23505"]);

/** Lock not available, query cancelled. Rolled back after waiting for another transaction. */
const BLOCKED = new Set(["55P03", "57014"]);

/**
 * Shutdown, crash shutdown, cannot connect now, too many connections, connections not allowed, no such
 * database.
 */
const UNAVAILABLE = new Set(["57P01", "57P02", "57P03", "53300", "55000", "3D000"]);

/** Read-only transaction: a standby or a failover in progress. Rolled back. */
export const READ_ONLY = "25006";

const FOREIGN_KEY = "23503";

const INVALID_PARAMETER = "22023";

const DISK_FULL = "53100";

/** Feature not supported. */
const UNSUPPORTED = "0A000";

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

/** pg reports these by message only. */
const CONNECTION_LOST =
  /^(Connection terminated|timeout expired|timeout exceeded when trying to connect|Query read timeout|Client (has encountered a connection error|was closed))/;

/** UNAVAILABLE: the database is unreachable or read-only, for all calls. */
export class DatabaseUnavailableError extends ToolgateError {
  constructor(cause: unknown) {
    const state = refusesWrites(cause) ? "takes no writes" : "is out of reach";
    super("UNAVAILABLE", `the database ${state}; repeat the call with the same idempotency key or proof`, {
      retryAfterSeconds: 2,
      cause,
    });
  }
}

/** UNAVAILABLE: the database responds, but something blocks this statement. */
export class DatabaseBusyError extends ToolgateError {
  constructor(cause: unknown) {
    super("UNAVAILABLE", "the database is busy; repeat the call with the same idempotency key or proof", {
      retryAfterSeconds: 1,
      cause,
    });
  }
}

/** Whether the transaction was rolled back and a retry can succeed. */
export function isRolledBack(error: unknown): boolean {
  return ROLLED_BACK.has(codeOf(error));
}

/** Whether the transaction was rolled back after the lock or statement timeout. */
export function isBlocked(error: unknown): boolean {
  return BLOCKED.has(codeOf(error));
}

/** Whether the server is a standby, or accepts no writes until it is reset. */
export function isReadOnly(error: unknown): boolean {
  // A standby refuses even reads of an unlogged table, with a code that says something else.
  const unlogged = error instanceof DatabaseError && error.routine === "get_relation_info";
  return codeOf(error) === READ_ONLY || (unlogged && error.code === UNSUPPORTED);
}

/** Whether the database responds but accepts no writes. */
export function refusesWrites(error: unknown): boolean {
  return isReadOnly(error) || codeOf(error) === DISK_FULL;
}

/**
 * Whether the connection was lost, could not be opened or accepts no writes. The pool opens another one. The
 * outcome of a statement on a lost connection is unknown.
 */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isConnectionLost);
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  if (UNAVAILABLE.has(code) || refusesWrites(error) || SOCKET_ERRORS.has(code) || code.startsWith("08"))
    return true;
  return !(error instanceof DatabaseError) && CONNECTION_LOST.test(error.message);
}

/** The SQLSTATE or socket error code; pg errors and the MikroORM errors that wrap them have it. */
function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

/** Whether a value is outside of what PostgreSQL knows, such as a time zone. */
export function isInvalidParameter(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === INVALID_PARAMETER;
}

export function isForeignKeyViolation(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === FOREIGN_KEY;
}
