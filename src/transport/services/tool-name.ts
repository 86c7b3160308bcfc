import { invalidField } from "../../domain/core/errors.ts";

/**
 * Returns the tool name of a filter; undefined when empty. The tool need not exist any more.
 * @param path path of the field
 * @throws ToolgateError INVALID_REQUEST for control characters
 */
export function toolIn(path: string, text: string | undefined): string | undefined {
  if (text === undefined || text === "") return undefined;
  // PostgreSQL text cannot contain NUL.
  if (/\p{Cc}/u.test(text)) throw invalidField(path, "must be a tool's name, without control characters");
  return text;
}

/** As {@link toolIn}, of a model. */
export function modelIn(path: string, text: string | undefined): string | undefined {
  if (text === undefined || text === "") return undefined;
  if (/\p{Cc}/u.test(text)) throw invalidField(path, "must be a model's name, without control characters");
  return text;
}
