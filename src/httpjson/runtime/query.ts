import { decodeEscapes } from "./percent-encoding.ts";

/**
 * The parameters of a query string in order, decoded lazily as application/x-www-form-urlencoded (WHATWG
 * URL): `+` is a space.
 *
 * @param query without the leading `?`
 * @throws JsonFieldError for a percent escape that is malformed or not UTF-8, which URLSearchParams replaces
 */
export function* parseQuery(query: string): Generator<[name: string, value: string]> {
  for (let start = 0, end: number; start < query.length; start = end + 1) {
    const mark = query.indexOf("&", start);
    end = mark < 0 ? query.length : mark;
    const part = query.slice(start, end);
    if (part === "") {
      continue;
    }
    const equals = part.indexOf("=");
    const rawName = equals < 0 ? part : part.slice(0, equals);
    const name = decodeForm(rawName, rawName);
    yield [name, equals < 0 ? "" : decodeForm(part.slice(equals + 1), name)];
  }
}

function decodeForm(text: string, name: string): string {
  return decodeEscapes(text.replaceAll("+", " "), name);
}
