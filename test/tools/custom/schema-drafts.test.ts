import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/domain/core/json.ts";
import { ParameterCheck } from "../../../src/tools/custom/parameter-check.ts";
import { asDraft2020 } from "../../../src/tools/custom/schema-drafts.ts";

/** What the schemas of the MCP SDKs of TypeScript, Python, Go, Java, C# and Rust declare, and the others. */
const DECLARED = [
  undefined,
  "http://json-schema.org/draft-03/schema#",
  "http://json-schema.org/draft-04/schema#",
  "http://json-schema.org/draft-06/schema",
  "http://json-schema.org/draft-07/schema#",
  "http://json-schema.org/draft-07/schema",
  "https://json-schema.org/draft-07/schema#",
  "https://json-schema.org/draft/2019-09/schema",
  "https://json-schema.org/draft/2019-09/schema#",
  "https://json-schema.org/draft/2020-12/schema",
  "https://json-schema.org/draft/2020-12/schema#",
  "http://json-schema.org/draft/2020-12/schema",
  "http://json-schema.org/schema#",
  "https://spec.openapis.org/oas/3.1/dialect/base",
];

const objectOf = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: "object",
  properties,
  ...more,
});

/** Slow to compile. */
const checks = new WeakMap<JsonObject, ParameterCheck>();

function isValid(schema: JsonObject, params: JsonObject): boolean {
  const check = checks.get(schema) ?? new ParameterCheck(schema);
  checks.set(schema, check);
  try {
    check.check(params);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "INVALID_REQUEST") return false;
    throw error;
  }
}

/** Fits and misfits of a schema. */
type Case = [title: string, schema: JsonObject, fit: JsonObject[], misfit: JsonObject[]];

const POINT = { type: "object", properties: { x: { type: "number" } }, required: ["x"] };

const CASES: Case[] = [
  [
    "definitions",
    objectOf({ at: { $ref: "#/definitions/point" } }, { definitions: { point: POINT } }),
    [{ at: { x: 1 } }],
    [{ at: {} }, { at: 1 }],
  ],
  [
    "items as a list, with additionalItems",
    objectOf({ pair: { type: "array", items: [{ type: "string" }], additionalItems: { type: "number" } } }),
    [{ pair: ["a"] }, { pair: ["a", 1] }],
    [{ pair: [1] }, { pair: ["a", "b"] }],
  ],
  [
    "references into what is renamed",
    objectOf({
      items: { items: [{ type: "string" }], additionalItems: { type: "number" } },
      first: { $ref: "#/properties/items/items/0" },
      more: { $ref: "#/properties/items/additionalItems" },
    }),
    [{ first: "a", more: 1 }],
    [{ first: 1 }, { more: "a" }],
  ],
  [
    "dependencies",
    objectOf(
      { a: {}, b: {}, c: {} },
      { dependencies: { a: ["b"], b: { required: ["c"] }, constructor: { required: ["a"] } } },
    ),
    [{ c: 1 }, { a: 1, b: 1, c: 1 }],
    [{ a: 1 }, { b: 1 }],
  ],
  [
    "exclusive bounds as booleans",
    objectOf({
      n: { type: "number", minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
    }),
    [{ n: 1 }, { n: 9 }],
    [{ n: 0 }, { n: 10 }],
  ],
  [
    "required in the property",
    objectOf({ city: { type: "string", required: true }, note: { type: "any", required: false } }),
    [{ city: "Rom", note: 1 }],
    [{ note: 1 }],
  ],
  [
    "nullable",
    objectOf({
      unit: { type: "string", enum: ["c"], nullable: true },
      at: { anyOf: [{ type: "string" }], nullable: true },
    }),
    [{ unit: null }, { unit: "c", at: "a" }],
    [{ unit: "f" }, { at: 1 }],
  ],
  [
    "null for what is left out",
    objectOf({ a: { type: "number", minimum: null, items: null, const: null } }, { required: null }),
    [{}],
    [{ a: 1 }],
  ],
  [
    "$recursiveRef",
    objectOf({ next: { $recursiveRef: "#" }, n: { type: "number" } }, { $recursiveAnchor: true }),
    [{ next: { next: { n: 1 } } }],
    [{ next: { next: { n: "a" } } }],
  ],
  [
    "parameters named like keywords",
    objectOf({ items: { type: "string" }, id: { type: "string" }, dependencies: {}, $schema: {} }),
    [{ items: "a", id: "b", dependencies: [1] }],
    [{ items: ["a"] }, { id: 1 }],
  ],
  [
    "values that look like schemas",
    objectOf({ a: { enum: [{ items: [1], exclusiveMinimum: true, id: "x" }], default: { required: true } } }),
    [{ a: { items: [1], exclusiveMinimum: true, id: "x" } }],
    [{ a: { items: [1] } }],
  ],
];

describe("a schema of any draft", () => {
  it.each(DECLARED)("is accepted when it declares %s", (declared) => {
    const schema = { ...(declared !== undefined && { $schema: declared }), ...objectOf({ at: POINT }) };
    expect(isValid(schema, { at: { x: 1 } })).toBe(true);
    expect(isValid(schema, { at: {} })).toBe(false);
  });

  it.each(CASES)("keeps the meaning of %s", (_, schema, fit, misfit) => {
    for (const params of fit) expect([params, isValid(schema, params)]).toEqual([params, true]);
    for (const params of misfit) expect([params, isValid(schema, params)]).toEqual([params, false]);
  });

  it("converts the identifiers of draft 4, and ignores `id` elsewhere", () => {
    const inner = { id: "#point", type: "number" };
    const four = { $schema: "http://json-schema.org/draft-04/schema#", id: "http://example.com/s" };
    const schema = objectOf({ a: { $ref: "#point" } }, { definitions: { p: inner } });
    const old = { ...four, ...schema };
    expect(isValid(old, { a: 1 })).toBe(true);
    expect(isValid(old, { a: "b" })).toBe(false);
    expect(isValid(objectOf({ a: { id: "anything", type: "number" } }), { a: 1 })).toBe(true);
    const seven = objectOf(
      { a: { $ref: "#point" } },
      { definitions: { p: { $id: "#point", type: "number" } } },
    );
    expect(isValid(seven, { a: "b" })).toBe(false);
  });

  it("keeps keywords that it does not know, and members of any name", () => {
    const schema: JsonObject = JSON.parse(
      '{"type":"object","x-unit":[1],"properties":{"__proto__":{"type":"string","readOnly":true}}}',
    );
    expect(JSON.stringify(asDraft2020(schema))).toBe(JSON.stringify(schema));
  });

  it.each([
    ["(?i)^a$", "A", true],
    ["^(?P<letter>[a-z])$", "a", true],
    ["\\A[a-z]+\\Z", "a", true],
    ["^[[:alpha:]]+$", "a", true],
    ["^\\d\\-\\d$", "1-2", true],
    ["^\\d\\-\\d$", "1.2", false],
    ["^\\\\A\\-$", "a", false],
    ["^\\p{L}$", "1", false],
  ])("leaves what JavaScript cannot read to the server: %s of %s is valid: %s", (pattern, a, valid) => {
    expect(isValid(objectOf({ a: { type: "string", pattern } }), { a })).toBe(valid);
  });

  it("limits the time for a pattern of an older draft", () => {
    const schema = objectOf(
      { a: { type: "array", items: [{ pattern: "^(a+)+$" }] } },
      { $schema: "http://json-schema.org/draft-07/schema#" },
    );
    expect(isValid(schema, { a: [`${"a".repeat(60)}!`] })).toBe(false);
  });

  it("explains alternatives behind references into definitions", () => {
    const schema = objectOf(
      { at: { anyOf: [{ type: "string" }, { $ref: "#/definitions/point" }] } },
      { definitions: { point: POINT } },
    );
    expect(() => new ParameterCheck(schema).check({ at: {} })).toThrow(
      "params.at: fits none of its alternatives: must be a string, not an object, or " +
        "params.at.x: is required",
    );
  });
});
