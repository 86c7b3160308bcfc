import { JsonFieldError, shorten } from "./json-error.ts";
import { decodeEscapes } from "./percent-encoding.ts";
import { isObject, setOwn } from "./read.ts";
import type { Parameter, PathVariable, Route } from "./route.ts";

type Json = Record<string, unknown>;

/**
 * Combines path, query and body into the JSON of the request message, by the route's google.api.HttpRule.
 *
 * @param segments the path's raw segments
 * @param query the raw query string, without `?`
 * @param body the parsed body; undefined without one
 * @throws JsonFieldError
 */
export function bindRequest(
  route: Route,
  segments: readonly string[],
  query: string,
  body: unknown,
): unknown {
  const json = bindBody(route, body);
  if (route.variables.length === 0 && query === "") {
    return json;
  }
  if (!isObject(json)) {
    throw new JsonFieldError("", "must be an object");
  }
  for (const variable of route.variables) {
    bindVariable(json, variable, segments);
  }
  bindQuery(json, route, query);
  return json;
}

function bindBody(route: Route, body: unknown): unknown {
  if (route.body === "") {
    if (body !== undefined) {
      throw new JsonFieldError("", `must be empty for ${route.httpMethod} ${route.pattern}`);
    }
    return {};
  }
  if (body === undefined) {
    throw new JsonFieldError("", "is missing");
  }
  return route.body === "*" ? body : { [route.body]: body };
}

function bindVariable(json: Json, variable: PathVariable, segments: readonly string[]): void {
  const path = fieldPath(variable);
  const text = segments
    .slice(variable.start, variable.end)
    .map((segment) => (variable.multi ? decodeButSlash(segment, path) : decodeEscapes(segment, path)))
    .join("/");
  const { parent, name } = open(json, variable);
  const given = own(parent, name);
  // A body may repeat a value of the path, as in AIP-134 updates, but not contradict it.
  if (
    given !== undefined &&
    given !== null &&
    given !== text &&
    given !== toJson(text, variable) &&
    !isNumber(given, text)
  ) {
    throw new JsonFieldError(path, "differs from the path");
  }
  setOwn(parent, name, toJson(text, variable));
}

/** In a variable of several segments an encoded slash stays encoded: decoded, it would be a separator. */
function decodeButSlash(segment: string, path: string): string {
  return segment
    .split(/(%2f)/i)
    .map((part) => (/^%2f$/i.test(part) ? "%2F" : decodeEscapes(part, path)))
    .join("");
}

function bindQuery(json: Json, route: Route, query: string): void {
  // A document without parameters is the same whatever a link adds to its address.
  if (route.httpMethod === "GET" && route.query.size === 0) {
    return;
  }
  for (const [name, text] of parseQuery(query)) {
    const parameter = route.query.get(name);
    if (parameter === undefined) {
      if (route.unknownQuery === "ignore") {
        continue;
      }
      throw new JsonFieldError(shorten(name), "unknown query parameter");
    }
    const key = fieldPath(parameter);
    const { parent, name: field } = open(json, parameter);
    const value = toJson(text, parameter);
    const earlier = own(parent, field);
    if (!parameter.repeated) {
      if (earlier !== undefined) {
        throw new JsonFieldError(key, "given more than once");
      }
      setOwn(parent, field, value);
    } else if (Array.isArray(earlier)) {
      earlier.push(value);
    } else {
      setOwn(parent, field, [value]);
    }
  }
}

/** Finds the object that holds the parameter's field, making those on the way, and its name there. */
function open(json: Json, { path }: Parameter): { parent: Json; name: string } {
  let parent = json;
  for (const names of path.slice(0, -1)) {
    const name = nameIn(parent, names);
    const child = own(parent, name) ?? {};
    if (!isObject(child)) {
      throw new JsonFieldError(name, "must be an object");
    }
    setOwn(parent, name, child);
    parent = child;
  }
  return { parent, name: nameIn(parent, path.at(-1) ?? []) };
}

/** A member of the object itself: every object inherits a `constructor`, which is no field. */
function own(json: Json, name: string): unknown {
  return Object.hasOwn(json, name) ? json[name] : undefined;
}

function isNumber(json: unknown, text: string): boolean {
  return typeof json === "number" && json.toString() === text;
}

function nameIn(json: Json, names: readonly string[]): string {
  return names.find((name) => Object.hasOwn(json, name)) ?? names[0] ?? "";
}

/** Values without a JSON form of their type stay text, for the field's reader. @throws JsonFieldError */
function toJson(text: string, parameter: Parameter): unknown {
  const { kind, words } = parameter;
  switch (kind) {
    case "bool":
      return text === "true" ? true : text === "false" ? false : text;
    case "integer":
      // Stricter than ProtoJSON's strings, which may also be 1.0 or 1e2.
      if (!/^-?\d+$/.test(text)) {
        throw new JsonFieldError(fieldPath(parameter), "must be a whole number");
      }
      return text;
    case "enum":
      if (words !== undefined && !words.includes(text)) {
        throw new JsonFieldError(fieldPath(parameter), `must be one of ${words.join(", ")}`);
      }
      return /^-?\d+$/.test(text) ? Number(text) : text;
    case "text":
      return text;
  }
}

function fieldPath({ path }: Parameter): string {
  return path.map(([name]) => name).join(".");
}

/**
 * The parameters of a query string in order, decoded lazily as application/x-www-form-urlencoded (WHATWG
 * URL): `+` is a space.
 *
 * @param query without the leading `?`
 * @throws JsonFieldError for a percent escape that is malformed or not UTF-8, which URLSearchParams replaces
 */
function* parseQuery(query: string): Generator<[name: string, value: string]> {
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
