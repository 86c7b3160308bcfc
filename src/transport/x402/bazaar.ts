import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";
import type { ListedTool } from "../../domain/tools/tool.ts";
import { nestedSchema } from "./nested-schema.ts";

/** Longest schema of parameters in an offer, characters of JSON. */
const MAX_SCHEMA_LENGTH = 1_536;
/** Where the schema of the parameters is within the schema of `info`. */
const BODY = "#/properties/input/properties/body";
const DIALECT = "https://json-schema.org/draft/2020-12/schema";

/** The members of an answer, see BuyToolResponse. */
const ANSWER = {
  type: "object",
  properties: { ok: { const: true }, result: { type: "object" }, receipt: { type: "object" } },
  required: ["ok", "result", "receipt"],
};

/** What a schema leaves out, for its readers. */
const LEFT_OUT = "shortened: /.well-known/x402 has all";

type Tool = Pick<ListedTool, "inputSchema">;

/** Returns the extension `bazaar`: how to call a tool over HTTP. @param example fitting parameters */
export function bazaarExtension({ inputSchema }: Tool, example: JsonObject): object {
  return extension(example, nestedSchema(inputSchema, BODY), ANSWER);
}

/**
 * Returns the forms for offers, which come back in a header, the longest first: parameters without texts,
 * their names and types, their names, nothing about them.
 */
export function shortBazaars({ inputSchema }: Tool, example: JsonObject): readonly object[] {
  const named = [namesOf(inputSchema, typeOf), namesOf(inputSchema, () => ({}))];
  const [whole, ...shorter] = [nestedSchema(inputSchema, BODY, false), ...named, { type: "object" }];
  return [
    ...(fits(whole) ? [extension(example, whole, ANSWER)] : []),
    ...shorter.filter(fits).map((body) => extension(example, body, undefined)),
  ];
}

function extension(example: JsonObject, body: JsonObject, answer: JsonObject | undefined): object {
  const output = { type: { type: "string" }, ...(answer && { example: answer }) };
  return {
    info: {
      input: { type: "http", method: "POST", bodyType: "json", body: example },
      output: { type: "json" },
    },
    schema: {
      $schema: DIALECT,
      type: "object",
      properties: {
        input: {
          type: "object",
          properties: {
            type: { type: "string", const: "http" },
            method: { type: "string", enum: ["POST"] },
            bodyType: { type: "string", enum: ["json"] },
            body,
          },
          required: ["type", "method", "bodyType", "body"],
          additionalProperties: false,
        },
        output: { type: "object", properties: output, required: ["type"] },
      },
      required: ["input"],
    },
  };
}

function fits(schema: JsonObject): boolean {
  return JSON.stringify(schema).length <= MAX_SCHEMA_LENGTH;
}

function namesOf(
  { properties, required }: JsonObject,
  describe: (schema: JsonValue) => JsonObject,
): JsonObject {
  const members = isJsonObject(properties) ? Object.entries(properties) : [];
  return {
    $comment: LEFT_OUT,
    type: "object",
    properties: Object.fromEntries(members.map(([name, schema]) => [name, describe(schema)])),
    ...(required !== undefined && { required }),
  };
}

function typeOf(schema: JsonValue): JsonObject {
  return isJsonObject(schema) && schema["type"] !== undefined ? { type: schema["type"] } : {};
}
