/** An error the user can fix. The command line prints the message alone and exits with 1. */
export class CommandError extends Error {
  override name = "CommandError";
}
