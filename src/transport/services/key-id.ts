import { invalidField } from "../../domain/core/errors.ts";
import { uuidOf } from "../../domain/core/ids.ts";

/**
 * Returns the key id of a filter; undefined when empty.
 * @param path path of the field
 * @throws ToolgateError INVALID_REQUEST for an invalid key id
 */
export function keyIdIn(path: string, text: string | undefined): string | undefined {
  if (text === undefined || text === "") return undefined;
  if (uuidOf("key", text) === undefined) throw invalidField(path, "must be a key's identifier, key_…");
  return text;
}
