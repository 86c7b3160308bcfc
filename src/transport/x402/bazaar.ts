import type { JsonObject } from "../../domain/core/json.ts";
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

/** How a tool's parameters are described: with the schema's texts, without them, or not at all. */
type Detail = "whole" | "short" | "none";

/** Returns the extension `bazaar`: how to call a tool over HTTP. @param example fitting parameters */
export function bazaarExtension({ inputSchema }: ListedTool, example: JsonObject, detail: Detail): object {
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
            body: describedBody(inputSchema, detail),
          },
          required: ["type", "method", "bodyType", "body"],
          additionalProperties: false,
        },
        output: {
          type: "object",
          properties: { type: { type: "string" }, example: ANSWER },
          required: ["type"],
        },
      },
      required: ["input"],
    },
  };
}

function describedBody(inputSchema: JsonObject, detail: Detail): JsonObject {
  if (detail === "whole") return nestedSchema(inputSchema, BODY);
  const described = detail === "short" ? nestedSchema(inputSchema, BODY, false) : undefined;
  const fits = described && JSON.stringify(described).length <= MAX_SCHEMA_LENGTH;
  return fits ? described : { type: "object" };
}
