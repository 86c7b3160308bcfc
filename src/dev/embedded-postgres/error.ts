/** The embedded database cannot be started. The message names the problem and its remedy. */
export class EmbeddedPostgresError extends Error {
  override name = "EmbeddedPostgresError";
}

/** The `code` of a system or PostgreSQL error (`ENOENT`, `3D000`), if it carries one. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
