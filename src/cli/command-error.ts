/** A command that cannot be done, for a reason that its user can do something about. The message alone is shown; exit code 1. */
export class CommandError extends Error {
  override name = "CommandError";
}
