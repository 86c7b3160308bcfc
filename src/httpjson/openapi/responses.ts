import type { JsonObject } from "@bufbuild/protobuf";
import { commentOf, firstSentence } from "../plugin/comments.ts";
import type { Binding } from "../plugin/http-rule.ts";
import type { ApiCatalogue, ApiError } from "./catalogue.ts";
import { numberOf, textOf } from "./json-option.ts";
import type { Schema } from "./rules.ts";
import type { Schemas } from "./schemas.ts";

/** What one path of a method takes and answers besides its own messages. */
export interface Other {
  readonly request: Schema | undefined;
  readonly response: Schema | undefined;
}

export function responsesOf(
  binding: Binding,
  path: JsonObject | undefined,
  other: Other,
  catalogue: ApiCatalogue,
  schemas: Schemas,
): Schema {
  const headers = catalogue.headersOf(binding, "responseHeaders");
  const responses = new Map<number, Schema>();
  const stream = textOf(path, "eventStream");
  responses.set(200, {
    description: described(binding),
    headers: headerRefs(headers, 200),
    content: {
      ...json(anyOf([successBody(binding, schemas), ...present(other.response)])),
      ...(stream !== "" && { "text/event-stream": { schema: { type: "string", description: stream } } }),
    },
  });
  const accepted = textOf(path, "accepted");
  if (accepted !== "") responses.set(202, { description: accepted, headers: headerRefs(headers, 202) });
  for (const [status, errors] of byStatus(catalogue.errorsOf(binding))) {
    const bodies = [...new Set(errors.map(({ body }) => body))].map((body) => schemas.ref(body));
    responses.set(status, {
      description: errors.map(({ code, meaning }) => `- \`${code}\`: ${meaning}`).join("\n"),
      headers: headerRefs(headers, status),
      content: json(anyOf([...bodies, ...present(other.response)])),
      "x-error-codes": errors.map(({ code }) => code),
    });
  }
  for (const { message, status } of catalogue.errorBodiesOf(binding)) {
    responses.set(status, {
      description: commentOf(message),
      headers: headerRefs(headers, status),
      content: json(schemas.ref(message)),
    });
  }
  return Object.fromEntries(
    [...responses].sort(([one], [next]) => one - next).map(([key, value]) => [key, value]),
  );
}

function headerRefs(headers: readonly JsonObject[], status: number): Schema {
  const sent = headers.filter((header) => {
    const { statuses } = header;
    return !Array.isArray(statuses) || statuses.map(Number).includes(status);
  });
  const names = sent.map((header) => textOf(header, "name"));
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

export function headerSchema(header: JsonObject): Schema {
  const maxLength = numberOf(header, "maxLength");
  return header["integer"] === true
    ? { type: "integer" }
    : { type: "string", ...(maxLength !== undefined && { maxLength }) };
}

function described({ method, responseBody }: Binding): string {
  return firstSentence(commentOf(responseBody?.message ?? method.output)) || "Success";
}

function successBody({ method, responseBody }: Binding, schemas: Schemas): Schema {
  return responseBody === undefined ? schemas.message(method.output) : schemas.field(responseBody);
}

function byStatus(errors: readonly ApiError[]): Map<number, ApiError[]> {
  return Map.groupBy(errors, ({ status }) => status);
}

function json(schema: Schema): Schema {
  return { "application/json": { schema } };
}

export function anyOf(schemas: readonly Schema[]): Schema {
  const [only] = schemas;
  return schemas.length === 1 && only !== undefined ? only : { anyOf: [...schemas] };
}

function present(schema: Schema | undefined): Schema[] {
  return schema === undefined ? [] : [schema];
}
