import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/domain/core/json.ts";
import { ParameterCheck } from "../../../src/tools/custom/parameter-check.ts";
import { deliverable } from "../../../src/tools/custom/custom-tool.ts";
import { fromJson, toBinary } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";

/** Slow to compile. */
const checks = new WeakMap<JsonObject, ParameterCheck>();

const problemOf = (schema: JsonObject, params: JsonObject): string | undefined => {
  const check = checks.get(schema) ?? new ParameterCheck(schema);
  checks.set(schema, check);
  try {
    check.check(params);
    return undefined;
  } catch (error) {
    expect(error).toMatchObject({ code: "INVALID_REQUEST" });
    return error instanceof Error ? error.message : String(error);
  }
};

const CITY: JsonObject = {
  type: "object",
  properties: {
    city: { type: "string", minLength: 2, maxLength: 5 },
    days: { type: "integer", minimum: 1, exclusiveMaximum: 8 },
    unit: { enum: ["c", "f"] },
    mode: { const: "fast" },
    tags: { type: "array", maxItems: 1, uniqueItems: true, items: { type: "string" } },
    on: { type: "string", format: "date" },
    code: { type: "string", pattern: "^[a-z]+$" },
    note: { type: ["string", "null"] },
    place: { anyOf: [{ type: "string" }, { $ref: "#/$defs/Point" }] },
    step: { type: "number", multipleOf: 0.5 },
    odd: { type: "object", properties: { "a b": { type: "number" } } },
  },
  required: ["city"],
  additionalProperties: false,
  $defs: {
    Point: {
      type: "object",
      properties: { lat: { type: "number" } },
      required: ["lat"],
      additionalProperties: false,
    },
  },
};

describe("validation errors", () => {
  it.each<[JsonObject, string]>([
    [{}, "params.city: is required, a string"],
    [{ city: 5 }, "params.city: must be a string, not a number"],
    [{ city: null }, "params.city: must be a string, not null"],
    [{ city: "x" }, "params.city: must have at least 2 characters"],
    [{ city: "Berlin" }, "params.city: must have at most 5 characters"],
    [{ city: "Rom", days: 1.5 }, "params.days: must be a whole number, not a fraction"],
    [{ city: "Rom", days: 0 }, "params.days: must be at least 1"],
    [{ city: "Rom", days: 8 }, "params.days: must be less than 8"],
    [{ city: "Rom", unit: "k" }, 'params.unit: must be one of "c", "f"'],
    [{ city: "Rom", mode: "slow" }, 'params.mode: must be "fast"'],
    [
      { city: "Rom", tags: ["a", 1] },
      "params.tags: must have at most 1 item; params.tags[1]: must be a string, not a number",
    ],
    [{ city: "Rom", on: "yesterday" }, "params.on: must have the format date"],
    [{ city: "Rom", code: "1" }, "params.code: must match the pattern ^[a-z]+$"],
    [{ city: "Rom", note: 1 }, "params.note: must be a string or null, not a number"],
    [{ city: "Rom", step: 0.3 }, "params.step: must be a multiple of 0.5"],
    [{ city: "Rom", odd: { "a b": "x" } }, 'params.odd["a b"]: must be a number, not a string'],
    [
      { city: "Rom", place: { lon: 1 } },
      "params.place: fits none of its alternatives: must be a string, not an object, or " +
        "params.place.lat: is required, a number, or params.place.lon: is unknown, leave it out, there " +
        "are lat",
    ],
    [
      { city: "Rom", constructor: 1 },
      "params.constructor: is unknown, leave it out, there are city, days, unit, mode, tags, on, " +
        "code, note, place, step, odd",
    ],
  ])("explains %j: %s", (params, sentence) => {
    expect(problemOf(CITY, params)).toBe(sentence);
  });

  it("accepts valid parameters and reports at most five problems", () => {
    expect(problemOf(CITY, { city: "Rom", place: { lat: 1 }, note: null, odd: {} })).toBeUndefined();
    const many = Object.fromEntries("abcdefgh".split("").map((name) => [name, 1]));
    expect(problemOf(CITY, many)?.split("; ")).toHaveLength(5);
  });

  it("ignores inherited members of JavaScript objects", () => {
    const schema: JsonObject = { type: "object", required: ["toString", "__proto__"] };
    expect(problemOf(schema, {})).toContain("params.toString: is required");
  });
});

describe("hostile schemas", () => {
  it.each<[string, string, JsonObject, JsonObject]>([
    [
      "by its pattern",
      "params.a",
      { type: "object", properties: { a: { pattern: "^(a+)+$" } } },
      { a: `${"a".repeat(60)}!` },
    ],
    [
      "by its alternatives",
      "params.a.a.a",
      {
        type: "object",
        properties: { a: { $ref: "#/$defs/n" } },
        $defs: {
          n: {
            anyOf: [1, 2].map((id) => ({
              properties: { a: { $ref: "#/$defs/n" } },
              required: [`never${id}`],
            })),
          },
        },
      },
      JSON.parse(`${'{"a":'.repeat(40)}{}${"}".repeat(40)}`),
    ],
  ])("limits the time for %s", (_, path, schema, params) => {
    expect(problemOf(schema, params)).toBe(
      `${path}: cannot be checked in reasonable time; send shorter or fewer values`,
    );
  });

  it("accepts superfluous escapes in patterns", () => {
    const schema: JsonObject = { type: "object", properties: { a: { pattern: String.raw`^[\w\-]+\_$` } } };
    expect(problemOf(schema, { a: "a-b_" })).toBeUndefined();
    expect(problemOf(schema, { a: "!" })).toContain("must match the pattern");
  });
});

describe("limits of results", () => {
  it("measures a result as gRPC encodes it", () => {
    const samples = [
      [null, true, 1.5, "", "ü".repeat(100), [], [1, [null]], { a: { b: ["c".repeat(200)] }, "": {} }],
      Array.from({ length: 200 }, (_, length) => "x".repeat(length)),
    ];
    for (const sample of samples) {
      const bytes = toBinary(ValueSchema, fromJson(ValueSchema, { filler: sample })).length;
      const limit = 4 * 1024 * 1024 - 64 * 1024;
      const fits = { filler: sample, pad: "x".repeat(limit - bytes - 100) };
      const exact = limit - toBinary(ValueSchema, fromJson(ValueSchema, fits)).length;
      const filled = (more: number) => ({ ...fits, pad: fits.pad + "x".repeat(exact + more) });
      const largest = filled(0);
      expect(deliverable(largest)).toBe(largest);
      const bytes_json = Buffer.byteLength(JSON.stringify(filled(1)));
      const reason = "the answer is longer than 4128768 bytes";
      expect(deliverable(filled(1))).toEqual({ omitted: "too_long", reason, bytes: bytes_json });
    }
  });

  it("replaces values below 32 levels by a placeholder", () => {
    const nested = (levels: number): JsonObject => (levels === 1 ? {} : { a: nested(levels - 1) });
    const deepest = nested(32);
    expect(deliverable(deepest)).toBe(deepest);
    const reason = "the answer nests deeper than 32 levels";
    const at = (levels: number, inner: JsonObject): JsonObject =>
      levels === 1 ? inner : { a: at(levels - 1, inner) };
    expect(deliverable({ ...nested(33), b: 1 })).toEqual({
      ...at(32, { omitted: "too_deep", reason, bytes: '{"a":{}}'.length }),
      b: 1,
    });
    const endless: JsonObject = JSON.parse(`{"a":${"[".repeat(200_000)}${"]".repeat(200_000)},"b":1}`);
    expect(JSON.stringify(deliverable(endless))).toContain(
      `{"omitted":"too_deep","reason":"${reason}","bytes":`,
    );
    expect(deliverable(endless)).toMatchObject({ b: 1 });
  });

  it("replaces values JSON cannot express and keeps the others", () => {
    const odd: JsonObject = JSON.parse(
      String.raw`{"a":"\ud800","b":[1e999,2],"\ud801":3,"__proto__":{"c":1e999}}`,
    );
    const fit = deliverable(odd);
    expect(JSON.stringify(fit)).toBe(
      '{"a":{"omitted":"not_json","reason":"the text has a lone surrogate","bytes":3},' +
        '"b":[{"omitted":"not_json","reason":"the number is not finite","bytes":null},2],' +
        '"\ufffd":3,"__proto__":{"c":{"omitted":"not_json","reason":"the number is not finite","bytes":null}}}',
    );
  });
});
