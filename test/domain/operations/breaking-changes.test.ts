import { expect, it } from "vitest";
import { breakingChanges } from "../../../src/domain/operations/breaking-changes.ts";
import type { JsonObject } from "../../../src/domain/core/json.ts";

const schema = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: "object",
  properties,
  ...more,
});

it.each<[string, JsonObject, JsonObject, string[]]>([
  ["a new optional parameter", schema({}), schema({ a: { type: "string" } }), []],
  ["a wider type", schema({ a: { type: "integer" } }), schema({ a: { type: "number" } }), []],
  ["a larger maximum", schema({ a: { maximum: 5 } }), schema({ a: { maximum: 6 } }), []],
  ["a new description", schema({ a: { description: "x" } }), schema({ a: { description: "y" } }), []],
  ["another required one", schema({}), schema({}, { required: ["a"] }), ["params.a becomes required"]],
  [
    "a removed parameter",
    schema({ a: {} }),
    schema({}, { additionalProperties: false }),
    ["params.a is no longer accepted"],
  ],
  [
    "another type",
    schema({ a: { type: "string" } }),
    schema({ a: { type: "integer" } }),
    ["params.a must be integer, was string"],
  ],
  [
    "a value less",
    schema({ a: { enum: ["x", "y"] } }),
    schema({ a: { enum: ["x"] } }),
    ['params.a no longer accepts "y"'],
  ],
  [
    "a smaller maximum, nested",
    schema({ a: { items: { maximum: 6 } } }),
    schema({ a: { items: { maximum: 5 } } }),
    ["params.a[]: maximum becomes 5, was 6"],
  ],
  [
    "what cannot be compared",
    schema({ a: { pattern: "^a" } }),
    schema({ a: { pattern: "^b" } }),
    ["params.a: has another pattern"],
  ],
])("judges %s", (_, before, after, problems) => {
  expect(breakingChanges(before, after)).toEqual(problems);
});
