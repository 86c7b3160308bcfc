import { ToolgateError } from "../domain/errors.ts";
import { CommandError } from "./command-error.ts";

/** SQLSTATE of a table that is not there. */
const UNDEFINED_TABLE = "42P01";

/** SQLSTATE of a table that somebody else has had for too long. */
const LOCK_NOT_AVAILABLE = "55P03";

/**
 * A {@link CommandError} where the user can do something about the database. It names host and port only: the address holds the password.
 */
export function explainDatabaseError(error: unknown, databaseUrl: string): unknown {
  if (error instanceof CommandError) return error;
  const code = codeOf(error);
  const { host } = new URL(databaseUrl);
  if (code === UNDEFINED_TABLE)
    return new CommandError(`The database at ${host} has no schema of Toolgate: run migrate first.`, {
      cause: error,
    });
  if (code === LOCK_NOT_AVAILABLE)
    return new CommandError(
      `The database at ${host} is in use by a transaction that does not end (a backup, an open psql; see pg_stat_activity): repeat this once it has.`,
      { cause: error },
    );
  if (code === undefined || !isConnection(code)) return error;
  return new CommandError(
    `The database at ${host} cannot be reached (${code}): run npm start if it is that of dev, or else check DATABASE_URL.`,
    { cause: error },
  );
}

/** System errors, and SQLSTATEs: connection exceptions, invalid authorization, no such database, shutdown and start. */
function isConnection(code: string): boolean {
  return /^(E[A-Z]+|EAI_AGAIN|08...|28...|3D000|57P0.)$/.test(code);
}

/** The code of an error, or of what it was caused by. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if ("code" in error && typeof error.code === "string" && !(error instanceof ToolgateError))
    return error.code;
  return codeOf(error instanceof AggregateError ? error.errors[0] : error.cause);
}
