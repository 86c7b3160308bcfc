import type { DescField, DescMethod, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "./annotations.ts";
import type { FieldPath, QueryField } from "./field-path.ts";
import { dottedName, parameterKind, queryFields, resolveFieldPath } from "./field-path.ts";
import { GenerationError } from "./generation-error.ts";
import type { PathTemplate, TemplateVariable } from "./path-template.ts";
import { hasRuntimeCodec } from "./well-known-types.ts";
import { parsePathTemplate, TemplateError } from "./path-template.ts";

export interface Binding {
  readonly method: DescMethod;
  /** HTTP method, or `*` for any. */
  readonly httpMethod: string;
  readonly pattern: string;
  readonly template: PathTemplate;
  readonly variables: readonly { readonly variable: TemplateVariable; readonly path: FieldPath }[];
  /** `*`, a top-level request field, or none. */
  readonly body: "*" | DescField | undefined;
  readonly query: readonly QueryField[];
  /** The top-level response field that is the response's body, if not the whole message. */
  readonly responseBody: DescField | undefined;
}

const patternKinds = ["get", "put", "post", "delete", "patch"] as const;
/** A token, as HTTP methods are (RFC 9110 5.6.2). */
const token = /^[!#$%&'*+.^`|~\w-]+$/;

/**
 * The bindings of a method: its rule and the rule's additional_bindings.
 *
 * @param rule the `google.api.http` option as ProtoJSON
 * @throws GenerationError for a rule that http.proto forbids or that JSON over unary HTTP cannot serve
 */
export function bindingsOf(method: DescMethod, rule: JsonObject): Binding[] {
  if (method.methodKind !== "unary") {
    throw new GenerationError(
      method,
      "streaming methods have no HTTP/JSON form here; remove google.api.http or make the method unary",
    );
  }
  for (const message of [method.input, method.output]) {
    if (message.typeName === "google.api.HttpBody") {
      throw new GenerationError(
        method,
        "google.api.HttpBody is not supported; use a message with the content as a field",
      );
    }
    if (hasRuntimeCodec(message) && message.typeName !== "google.protobuf.Empty") {
      throw new GenerationError(
        method,
        `${message.typeName} cannot be a whole request or response; make it a field of a message`,
      );
    }
  }
  const additional = rule["additionalBindings"];
  const rules = Array.isArray(additional) ? additional.filter(isObject) : [];
  if (rules.some((nested) => nested["additionalBindings"] !== undefined)) {
    throw new GenerationError(
      method,
      "additional_bindings may not have additional_bindings; list them all in the first rule",
    );
  }
  return [rule, ...rules].map((each) => binding(method, each));
}

function binding(method: DescMethod, rule: JsonObject): Binding {
  const [httpMethod, pattern] = patternOf(method, rule);
  const template = parse(method, pattern);
  const variables = template.variables.map((variable) => ({
    variable,
    path: variablePath(method, variable),
  }));
  const body = bodyOf(method, text(rule["body"]));
  const bound = new Set(variables.map(({ path }) => dottedName(path)));
  if (body !== undefined && body !== "*") {
    if (bound.has(body.name)) {
      throw new GenerationError(
        method,
        `${body.name} is both the body and a variable of the path; choose one`,
      );
    }
    bound.add(body.name);
  }
  const query = body === "*" ? [] : queryFields(method.input, bound);
  return {
    method,
    httpMethod,
    pattern,
    template,
    variables,
    body,
    query,
    responseBody: responseBodyOf(method, text(rule["responseBody"])),
  };
}

function patternOf(method: DescMethod, rule: JsonObject): [httpMethod: string, pattern: string] {
  for (const kind of patternKinds) {
    const pattern = rule[kind];
    if (typeof pattern === "string") {
      return [kind.toUpperCase(), pattern];
    }
  }
  const custom = rule["custom"];
  if (isObject(custom)) {
    const kind = text(custom["kind"]);
    if (!token.test(kind)) {
      throw new GenerationError(
        method,
        `custom kind "${kind}" is no HTTP method; write one such as HEAD, or * for any`,
      );
    }
    return [kind, text(custom["path"])];
  }
  throw new GenerationError(
    method,
    "google.api.http has no pattern; set one of get, put, post, delete, patch, custom",
  );
}

function parse(method: DescMethod, pattern: string): PathTemplate {
  try {
    return parsePathTemplate(pattern);
  } catch (error) {
    if (error instanceof TemplateError) {
      throw new GenerationError(method, error.message);
    }
    throw error;
  }
}

function variablePath(method: DescMethod, { fieldPath }: TemplateVariable): FieldPath {
  const path = resolveFieldPath(method.input, fieldPath);
  if (path === undefined) {
    throw new GenerationError(
      method,
      `the path variable ${fieldPath} is no field of ${method.input.typeName}`,
    );
  }
  const field = path.at(-1);
  if (
    field === undefined ||
    (field.fieldKind !== "scalar" && field.fieldKind !== "enum") ||
    parameterKind(field) === undefined
  ) {
    throw new GenerationError(
      method,
      `the path variable ${fieldPath} must be a scalar field, not repeated, a map or a message`,
    );
  }
  return path;
}

function bodyOf(method: DescMethod, selector: string): "*" | DescField | undefined {
  if (selector === "" || selector === "*") {
    return selector === "*" ? "*" : undefined;
  }
  return topLevelField(method, method.input.fields, "body", selector);
}

function responseBodyOf(method: DescMethod, selector: string): DescField | undefined {
  return selector === "" ? undefined : topLevelField(method, method.output.fields, "response_body", selector);
}

function topLevelField(
  method: DescMethod,
  fields: readonly DescField[],
  option: string,
  selector: string,
): DescField {
  const field = fields.find(({ name }) => name === selector);
  if (field === undefined) {
    throw new GenerationError(method, `${option}: "${selector}" is no top-level field of the message`);
  }
  return field;
}

function text(json: JsonValue | undefined): string {
  return typeof json === "string" ? json : "";
}
