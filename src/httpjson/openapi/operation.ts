import type { DescMethod, JsonObject } from "@bufbuild/protobuf";
import { commentOf, firstSentence } from "../plugin/comments.ts";
import type { FieldPath } from "../plugin/field-path.ts";
import { GenerationError } from "../plugin/generation-error.ts";
import type { Binding } from "../plugin/http-rule.ts";
import { writtenName } from "../plugin/names.ts";
import type { PluginOptions } from "../plugin/options.ts";
import { isObject, type Annotations } from "../plugin/annotations.ts";
import type { ApiCatalogue } from "./catalogue.ts";
import { objectsOf, securityBy, textOf } from "./json-option.ts";
import { anyOf, responsesOf, type Other } from "./responses.ts";
import { isRequired, type Schema } from "./rules.ts";
import type { Schemas } from "./schemas.ts";

export interface OperationContext {
  /** Of all methods: they are named by their place among their method's. */
  readonly bindings: readonly Binding[];
  readonly catalogue: ApiCatalogue;
  readonly schemas: Schemas;
  readonly annotations: Annotations;
  readonly options: PluginOptions;
}

/** The methods that a path item can hold (OpenAPI 3.1.0, Path Item Object). */
const METHODS: ReadonlySet<string> = new Set([
  "GET",
  "PUT",
  "POST",
  "DELETE",
  "OPTIONS",
  "HEAD",
  "PATCH",
  "TRACE",
]);

/** @returns path, method and operation. @throws GenerationError for a method that OpenAPI has no place for */
export function operationOf(
  binding: Binding,
  context: OperationContext,
): [path: string, method: string, Schema] {
  const { method, httpMethod } = binding;
  if (!METHODS.has(httpMethod)) {
    throw new GenerationError(
      method,
      `OpenAPI 3.1 has no place for the HTTP method ${httpMethod}; leave it out of the document`,
    );
  }
  const { catalogue, schemas } = context;
  const path = objectsOf(catalogue.operation(method), "paths").find(
    (one) => textOf(one, "path") === binding.pattern,
  );
  const comment = commentOf(method);
  const other = otherOf(method, path, catalogue, schemas);
  const parameters = parametersOf(binding, context);
  const body = requestBody(binding, other, schemas);
  const operation: Schema = {
    operationId: textOf(path, "operationId") || ordinalName(binding, context),
    summary: (textOf(path, "summary") || firstSentence(comment)).replace(/\.$/, ""),
    description: textOf(path, "description") || comment,
    tags: [method.parent.name],
    ...securityOf(method, catalogue),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && { requestBody: body }),
    responses: responsesOf(binding, path, other, catalogue, schemas),
  };
  return [pathOf(binding), httpMethod.toLowerCase(), operation];
}

/** The method's name, with a number for its second and further bindings. */
function ordinalName(binding: Binding, { bindings }: OperationContext): string {
  const place = bindings.filter(({ method }) => method === binding.method).indexOf(binding) + 1;
  return place > 1 ? `${binding.method.name}_${place}` : binding.method.name;
}

/** The path with its variables by name; OpenAPI cannot express which part of a path a variable matches. */
function pathOf({ template: { segments, variables, verb } }: Binding): string {
  const parts: string[] = [];
  for (let index = 0; index < segments.length;) {
    const variable = variables.find(({ start }) => start === index);
    parts.push(variable === undefined ? (segments[index] ?? "") : `{${variable.fieldPath}}`);
    index = variable === undefined ? index + 1 : (variable.end ?? segments.length);
  }
  return `/${parts.join("/")}${verb === "" ? "" : `:${verb}`}`;
}

function otherOf(
  method: DescMethod,
  path: JsonObject | undefined,
  catalogue: ApiCatalogue,
  schemas: Schemas,
): Other {
  const schemaOf = (member: string): Schema | undefined => {
    const name = textOf(path, member);
    if (name === "") return undefined;
    const one = schemas.ref(catalogue.message(method, name));
    return path?.["otherBatches"] === true
      ? { anyOf: [one, { type: "array", items: one, minItems: 1 }] }
      : one;
  };
  return { request: schemaOf("otherRequest"), response: schemaOf("otherResponse") };
}

function securityOf(method: DescMethod, catalogue: ApiCatalogue): Schema {
  const credential = catalogue.credential(method);
  if (credential === "required") return {};
  const { bearer } = catalogue.document;
  return { security: credential === "none" || !isObject(bearer) ? [] : [{}, ...securityBy(bearer)] };
}

function parametersOf(
  binding: Binding,
  { catalogue, schemas, annotations, options }: OperationContext,
): Schema[] {
  const parameter = (path: FieldPath, name: string, where: "path" | "query"): Schema => {
    const field = path.at(-1);
    if (field === undefined) throw new GenerationError(binding.method, `${name} is no field`);
    const { description, ...schema } = schemas.property(field);
    const required = where === "path" || isRequired(field, annotations.rules(field));
    return {
      name,
      in: where,
      ...(required && { required }),
      ...(description !== undefined && { description }),
      schema,
    };
  };
  const dotted = (path: FieldPath) => path.map((field) => writtenName(field, options)).join(".");
  return [
    ...binding.variables.map(({ variable, path }) => parameter(path, variable.fieldPath, "path")),
    ...binding.query.map(({ path }) => parameter(path, dotted(path), "query")),
    ...catalogue
      .headersOf(binding, "requestHeaders")
      .map((header) => ({ $ref: `#/components/parameters/${textOf(header, "name")}` })),
  ];
}

function requestBody(
  { method, body, variables }: Binding,
  { request }: Other,
  schemas: Schemas,
): Schema | undefined {
  if (body === undefined) return undefined;
  // Fields that the path does not set come from the body.
  const elsewhere = new Set(variables.flatMap(({ path }) => (path.length === 1 ? path : [])));
  const whole = () =>
    elsewhere.size === 0 ? schemas.message(method.input) : schemas.object(method.input, elsewhere);
  const own = body === "*" ? whole() : schemas.field(body);
  const schema = request === undefined ? own : anyOf([own, request]);
  return { required: true, content: { "application/json": { schema } } };
}
