import { invalidField } from "../../domain/errors.ts";
import { uuidOf } from "../../domain/ids.ts";

/**
 * The key that a list is narrowed to; undefined when it is not.
 * @param path of the field
 * @throws ToolgateError INVALID_REQUEST for what cannot be a key's identifier
 */
export function keyIdIn(path: string, text: string | undefined): string | undefined {
  if (text === undefined || text === "") return undefined;
  if (uuidOf("key", text) === undefined) throw invalidField(path, "must be a key's identifier, key_…");
  return text;
}
