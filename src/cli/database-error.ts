import { ToolgateError } from "../domain/core/errors.ts";
import { serversOf } from "../domain/core/database-url.ts";
import { CommandError } from "./command-error.ts";

/** SQLSTATE undefined_table. */
const UNDEFINED_TABLE = "42P01";

/** SQLSTATE lock_not_available. */
const LOCK_NOT_AVAILABLE = "55P03";

/** SQLSTATE insufficient_privilege. */
const INSUFFICIENT_PRIVILEGE = "42501";

/**
 * Returns a {@link CommandError} for errors the user can fix. Names host and port only: the URL holds the
 * password.
 */
export function explainDatabaseError(error: unknown, databaseUrl: string): unknown {
  if (error instanceof CommandError) return error;
  const code = codeOf(error);
  const host = serversOf(databaseUrl);
  if (code === UNDEFINED_TABLE)
    return new CommandError(`The database at ${host} has no Toolgate schema: run migrate first.`, {
      cause: error,
    });
  if (code === LOCK_NOT_AVAILABLE)
    return new CommandError(
      `The database at ${host} is locked by a transaction (see pg_stat_activity): repeat this after it ends.`,
      { cause: error },
    );
  if (code === INSUFFICIENT_PRIVILEGE)
    return new CommandError(
      `The role in DATABASE_URL may not do this: run it with the URL of the schema's owner.`,
      { cause: error },
    );
  if (code === undefined || !isConnection(code)) return error;
  return new CommandError(
    `The database at ${host} cannot be reached (${code}): ` +
      "for dev run npm start; otherwise check DATABASE_URL.",
    { cause: error },
  );
}

/** System errors and SQLSTATEs for connection, authorization, missing database, shutdown and startup. */
function isConnection(code: string): boolean {
  return /^(E[A-Z]+|EAI_AGAIN|08...|28...|3D000|57P0.)$/.test(code);
}

/** Returns the code of the error or of its cause. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if ("code" in error && typeof error.code === "string" && !(error instanceof ToolgateError))
    return error.code;
  return codeOf(error instanceof AggregateError ? error.errors[0] : error.cause);
}
