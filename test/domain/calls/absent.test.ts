import { describe, expect, it } from "vitest";
import { bodyWithoutNulls, withoutNulls } from "../../../src/domain/calls/absent.ts";
import type { JsonObject } from "../../../src/domain/core/json.ts";

const SCHEMA: JsonObject = {
  type: "object",
  required: ["needed"],
  properties: {
    needed: { type: "string" },
    text: { type: "string" },
    choice: { enum: ["a", "b"] },
    fixed: { const: 1 },
    nullable: { type: ["string", "null"] },
    either: { anyOf: [{ type: "string" }, { type: "null" }] },
    neither: { anyOf: [{ type: "string" }, { type: "integer" }] },
    any: {},
    point: { $ref: "#/$defs/point" },
    list: { type: "array", items: { $ref: "#/$defs/point" } },
    self: { $ref: "#" },
  },
  $defs: {
    point: { type: "object", allOf: [{ properties: { x: { type: "number" }, y: { type: "null" } } }] },
  },
};

describe("params with null", () => {
  it.each<[string, JsonObject, JsonObject]>([
    ["an optional member is absent", { needed: "n", text: null, choice: null, fixed: null }, { needed: "n" }],
    ["a required member stays", { needed: null }, { needed: null }],
    [
      "null that the schema allows stays",
      { nullable: null, either: null, any: null },
      { nullable: null, either: null, any: null },
    ],
    ["no branch allows it", { neither: null }, {}],
    ["an unknown member stays", { other: null, ["__proto__x"]: null }, { other: null, ["__proto__x"]: null }],
    [
      "nested members",
      { point: { x: null, y: null }, list: [{ x: null }, null] },
      { point: { y: null }, list: [{}, null] },
    ],
    ["a schema that refers to itself", { self: { self: { text: null } } }, { self: { self: {} } }],
  ])("%s", (_, params, expected) => {
    expect(withoutNulls(params, SCHEMA)).toEqual(expected);
  });

  it("are the same object without any", () => {
    const params = { needed: "n", point: { x: 1 } };
    expect(withoutNulls(params, SCHEMA)).toBe(params);
  });

  it("of the OpenAI API are absent, but for what the caller's schemas and arguments hold", () => {
    const parameters = { properties: { a: { default: null } } };
    const body = (none: JsonObject): JsonObject => ({
      model: "m",
      ...none,
      messages: [
        { role: "assistant", ...none },
        { role: "user", content: [{ ...none, type: "text" }] },
      ],
      tools: [{ type: "function", function: { ...none, name: "f", parameters } }],
      metadata: { kept: null },
    });
    expect(bodyWithoutNulls(body({ name: null, content: null }))).toEqual({
      ...body({}),
      messages: [{ role: "assistant" }, { role: "user", content: [{ type: "text" }] }],
    });
  });
});
