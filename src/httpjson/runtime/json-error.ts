/** A request that does not fit its message. Everything the readers refuse is refused with this error. */
export class JsonFieldError extends Error {
  /** Such as `messages[2].role`, `headers["x-payment"]`, the name of a query parameter, or `body`. */
  readonly path: string;

  /** @param path where the problem is; empty for the whole body */
  constructor(path: string, problem: string) {
    const where = path === "" ? "body" : path;
    super(`${where}: ${problem}`.toWellFormed());
    this.name = "JsonFieldError";
    this.path = where;
  }
}

const longestName = 80;

/** Joins a member's name to the path of its object. */
export function at(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

/** A member that the message does not have. Long names are cut: the error is sent back to the caller. */
export function unknownField(path: string, name: string): JsonFieldError {
  return new JsonFieldError(at(path, shorten(name)), "unknown field");
}

/** Cuts a name that a caller chose to a length that is fit to be sent back. */
export function shorten(name: string): string {
  return name.length > longestName ? `${name.slice(0, longestName)}…` : name;
}
