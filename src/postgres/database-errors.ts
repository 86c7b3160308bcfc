import { DatabaseError } from "pg";

/**
 * Serialization failure, deadlock, lock not available, unique violation (the same statement sent twice at once), and a cancelled
 * statement (PostgreSQL appendix A). The transaction did not happen: it can be sent again.
 */
const UNDONE = new Set(["40001", "40P01", "55P03", "23505", "57014"]);

/** Shutdown, crash shutdown, cannot connect now, too many connections. */
const AWAY = new Set(["57P01", "57P02", "57P03", "53300"]);

const SOCKET = new Set([
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
const LOST =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error)/;

/** Whether the transaction certainly did not happen and would do so now. */
export function wasUndone(error: unknown): boolean {
  return error instanceof DatabaseError && UNDONE.has(error.code ?? "");
}

/** Whether the connection was lost or could not be made: if the statement was a COMMIT in disguise, nobody knows what became of it. */
export function wasLost(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(wasLost);
  if (!(error instanceof Error)) return false;
  if (error instanceof DatabaseError) return AWAY.has(error.code ?? "") || (error.code ?? "").startsWith("08");
  return LOST.test(error.message) || ("code" in error && typeof error.code === "string" && SOCKET.has(error.code));
}
