import { invalidField } from "../../domain/errors.ts";

/**
 * The tool that something is narrowed to; undefined when it is not. One that is not there any more may be asked for.
 * @param path of the field
 * @throws ToolgateError INVALID_REQUEST for what cannot be a tool's name
 */
export function toolIn(path: string, text: string | undefined): string | undefined {
  if (text === undefined || text === "") return undefined;
  // PostgreSQL's text has no NUL.
  if (/\p{Cc}/u.test(text)) throw invalidField(path, "must be a tool's name, without control characters");
  return text;
}
