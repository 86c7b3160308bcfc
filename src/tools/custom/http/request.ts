import { invalidField, fieldPath } from "../../../domain/core/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../domain/core/json.ts";
import type { Inputs, ParameterInput } from "./inputs.ts";
import { encoded, headerValue, pairsOf, pathPart, type Pair } from "./parameter-styles.ts";

/** RFC 9110, 5.5. */
const HEADER_VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;

/** Characters that some server treats as the end of a path segment, even percent-encoded. */
const SEGMENT_BREAKERS = /[/\\\u0000-\u001f\u007f]/;

/** A request without the operator's headers. */
export interface ComposedRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export interface RequestPlan {
  /** Without trailing slash, query or fragment. */
  readonly server: URL;
  /** With parameters in braces. */
  readonly path: string;
  readonly inputs: Inputs;
}

/** Builds a request: parameters change no other part of it. @throws ToolgateError INVALID_REQUEST */
export function composeRequest({ server, path, inputs }: RequestPlan, params: JsonObject): ComposedRequest {
  const given = inputs.parameters.filter(({ member }) => Object.hasOwn(params, member));
  const at = (place: ParameterInput["location"]) => given.filter((input) => input.location === place);
  const valueOf = ({ member }: ParameterInput): JsonValue => params[member] ?? null;
  const segments = filledPath(path, at("path"), valueOf);
  const query = at("query").flatMap((input) => ownPairs(input, pairsOf(input, valueOf(input)), inputs));
  const cookies = at("cookie").flatMap((input) => ownPairs(input, pairsOf(input, valueOf(input)), inputs));
  const headers: Record<string, string> = {};
  for (const input of at("header")) {
    const value = headerValue(input, valueOf(input));
    if (value === "") continue;
    if (!HEADER_VALUE.test(value))
      throw invalidField(
        fieldPath([input.member]),
        "must be visible characters of ASCII, without line breaks",
      );
    headers[input.name] = value;
  }
  if (cookies.length > 0) headers["Cookie"] = cookies.map(joined).join("; ");
  const pathname = server.pathname.replace(/\/$/, "") + segments;
  const url = server.origin + pathname + (query.length > 0 ? `?${query.map(joined).join("&")}` : "");
  // URL parsing removes dot segments, however they are encoded.
  if (new URL(url).pathname !== pathname)
    throw invalidField(
      fieldPath(
        at("path")
          .slice(0, 1)
          .map(({ member }) => member),
      ),
      "must not form a . or .. path segment",
    );
  const body =
    inputs.body && Object.hasOwn(params, "body") ? bodyText(inputs.body, params["body"] ?? null) : undefined;
  if (inputs.body && body !== undefined) headers["Content-Type"] = inputs.body.mediaType;
  return { url, headers, body };
}

function filledPath(
  path: string,
  inputs: readonly ParameterInput[],
  valueOf: (input: ParameterInput) => JsonValue,
): string {
  return path.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
    const input = inputs.find((one) => one.name === name);
    if (!input) throw new RangeError(`the path's parameter ${name} has no value`);
    const value = valueOf(input);
    for (const text of textsOf(value)) {
      if (SEGMENT_BREAKERS.test(text))
        throw invalidField(
          fieldPath([input.member]),
          "must not contain slashes, backslashes or control characters",
        );
    }
    const part = pathPart(input, value);
    if (textsOf(value).join("") === "") throw invalidField(fieldPath([input.member]), "must not be empty");
    return part;
  });
}

/** The members of an exploded object must not override other parameters. */
function ownPairs(input: ParameterInput, pairs: readonly Pair[], { parameters }: Inputs): readonly Pair[] {
  const others = parameters.filter((one) => one !== input && one.location === input.location);
  for (const [name] of pairs) {
    const other = others.find((one) => encoded(one.name, one) === name);
    if (other)
      throw invalidField(
        fieldPath([input.member]),
        `must not have a member ${other.name}, which is a parameter of its own`,
      );
  }
  return pairs;
}

function bodyText({ encoding }: NonNullable<Inputs["body"]>, value: JsonValue): string {
  if (encoding === "json") return JSON.stringify(value);
  if (!isJsonObject(value)) throw invalidField("params.body", "must be an object");
  const form = new URLSearchParams();
  for (const [name, member] of Object.entries(value)) {
    for (const item of Array.isArray(member) ? member : [member]) {
      if (item === null) continue;
      form.append(name, typeof item === "object" ? JSON.stringify(item) : String(item));
    }
  }
  return form.toString();
}

/** All strings in a value, including member names. */
function textsOf(value: JsonValue): string[] {
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (isJsonObject(value))
    return Object.entries(value).flatMap(([name, member]) => [name, ...textsOf(member)]);
  return value === null ? [] : [String(value)];
}

function joined([name, value]: Pair): string {
  return `${name}=${value}`;
}
