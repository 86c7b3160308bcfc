/** What the database allows: "read-only" on a standby; "old schema" until `migrate` has run. */
export type DatabaseState = "ok" | "unreachable" | "read-only" | "old schema";

export interface Health {
  /** Whether calls can be served: {@link state} is "ok". */
  check(signal: AbortSignal): Promise<boolean>;
  /** Returns "unreachable" when the signal aborts. */
  state(signal: AbortSignal): Promise<DatabaseState>;
}
