import { create, fromJson, toBinary, toJson, type JsonValue } from "@bufbuild/protobuf";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { requestSchema } from "../../../../src/tools/custom/grpc/request-schema.ts";
import { anyMessage } from "./odd-message.ts";
import { buildOddTypes, type OddTypes } from "./odd-types.ts";

// oxlint-disable-next-line typescript/no-explicit-any
type Shape = any;

describe("JSON Schema of a message", () => {
  let types: OddTypes;
  let accepts: ValidateFunction;

  beforeAll(async () => {
    types = await buildOddTypes();
    accepts = compiled("Everything");
  });

  function compiled(name: string): ValidateFunction {
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, strictRequired: false });
    // CommonJS without a default export.
    (addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
    return ajv.compile(requestSchema(types.message(name)));
  }

  /** Protobuf's own verdict. */
  function reads(json: unknown, name = "Everything"): boolean {
    const type = types.message(name);
    try {
      toBinary(type, fromJson(type, json as JsonValue, { registry: types.registry }));
      return true;
    } catch {
      return false;
    }
  }

  it("accepts every message in ProtoJSON", () => {
    const type = types.message("Everything");
    fc.assert(
      fc.property(anyMessage(type), (message) => {
        const json = toJson(type, message, { registry: types.registry });
        if (!accepts(JSON.parse(JSON.stringify(json)))) throw new Error(JSON.stringify(accepts.errors));
      }),
      { numRuns: 60 },
    );
  });

  it("accepts nothing that protobuf rejects", () => {
    const type = types.message("Everything");
    let accepted = 0;
    fc.assert(
      fc.property(
        anyMessage(type, 1).map((message) => toJson(type, message)),
        fc.array(fc.tuple(fc.nat(), fc.constantFrom<unknown>(...ODDITIES)), { minLength: 1, maxLength: 2 }),
        (json, mutations) => {
          const mutated = mutations.reduce<unknown>((value, [at, odd]) => replaced(value, at, odd), json);
          if (!accepts(mutated)) return;
          accepted += 1;
          if (!reads(mutated)) throw new Error(`protobuf does not read ${JSON.stringify(mutated)}`);
        },
      ),
      { numRuns: 500 },
    );
    expect(accepted).toBeGreaterThan(15);
  });

  it.each([
    ["a name as in the .proto file", { a_string: "x" }],
    ["a name that json_name replaces", { named: "x" }],
    ["null for a field that is not set", { aString: null }],
    ["an unknown field", { nothing: 1 }],
    ["an enum value by number", { aColour: 1 }],
    ["a number beyond 32 bits", { aInt32: 2 ** 31 }],
    ["a negative number without a sign", { aUint32: -1 }],
    ["a number beyond 64 bits", { aInt64: "9223372036854775808" }],
    ["a number that JSON cannot hold exactly", { aInt64: 2 ** 53 }],
    ["leading zeros", { aInt64: "007" }],
    ["bytes that are no base64", { aBytes: "not base64" }],
    ["bytes without padding", { aBytes: "YQ" }],
    ["a key of a map that is no number", { byLong: { x: "y" } }],
    ["a key of a map beyond its type", { byNumber: { "4294967296": "" } }],
    ["two members of a oneof", { chosenText: "x", chosenLong: 1 }],
    ["a day that no calendar has", { at: "2026-02-30T00:00:00Z" }],
    ["a duration beyond 10,000 years", { during: "315576000000.5s" }],
    ["a path with an underscore", { mask: "a_b" }],
    ["a message of any type", { any: { "@type": "type.googleapis.com/google.protobuf.Empty" } }],
    ["a fault deep inside", { inner: { byName: { x: { more: [{ aBool: 1 }] } } } }],
  ])("rejects %s", (_, json) => {
    expect(accepts(json)).toBe(false);
  });

  it.each([
    ["the largest numbers as strings", { aInt64: "-9223372036854775808", aUint64: "18446744073709551615" }],
    ["small numbers as they are", { aInt64: -5, longs: [1, "2"] }],
    ["what is not a number", { aDouble: "NaN", aFloat: "-Infinity" }],
    ["the ends of a duration", { during: "-315576000000s" }],
    ["a time with an offset", { at: "2026-11-21T10:00:00.123456789+05:30" }],
    ["null where it is a value", { value: null, chosenNull: null }],
    ["the name that json_name gives", { "called-otherwise": "x" }],
  ])("accepts %s, as protobuf does", (_, json) => {
    expect(accepts(json)).toBe(true);
    expect(reads(json)).toBe(true);
  });

  it("requires what protovalidate requires", () => {
    const rules = compiled("Ruled");
    expect(rules({ must: "x", left: "y" })).toBe(true);
    expect(rules({ left: "y" })).toBe(false);
    expect(rules({ must: "x" })).toBe(false);
  });

  it("contains comments and deprecations", () => {
    const schema: Shape = requestSchema(types.message("Everything"));
    expect(schema.properties.aInt32.description).toBe("A whole number.");
    expect(schema.properties.old.deprecated).toBe(true);
    expect(schema.$defs["odd.v1.Colour"].description).toBe("A colour of the rainbow.");
  });

  it("contains no dangling references", () => {
    const schema: Shape = requestSchema(types.message("Everything"));
    const references = JSON.stringify(schema).matchAll(/"\$ref":"#\/\$defs\/([^"]+)"/g);
    const names = [...references].map(([, name]) => name);
    expect(new Set(names)).toEqual(new Set(Object.keys(schema.$defs)));
  });

  it("is an empty object for a message without fields", () => {
    const empty = types.registry.getMessage("google.protobuf.Empty")!;
    expect(requestSchema(empty)).toMatchObject({
      type: "object",
      properties: {},
      additionalProperties: false,
    });
    expect(create(empty)).toBeDefined();
  });
});

/** Edge values for mutations. */
const ODDITIES: readonly unknown[] = [
  ...[null, true, false, 0, -0, -1, 1.5, 1e300, 2 ** 31, 2 ** 32, 2 ** 53, -(2 ** 53), 255],
  ...[
    "",
    "0",
    "-1",
    "1.5",
    "1e3",
    "9223372036854775808",
    "NaN",
    "Infinity",
    "true",
    "null",
    "COLOUR_RED",
    "YQ==",
    "YQ",
  ],
  ...[
    "1s",
    "-0.5s",
    "1.0000000001s",
    "2026-11-21T10:00:00Z",
    "2026-11-21t10:00:00z",
    "a,b.c",
    "a_b",
    "__proto__",
  ],
  ...[
    [],
    {},
    [null],
    { a: null },
    { aInt32: 1 },
    { a_int32: 1 },
    { "1": "x" },
    { "01": "x" },
    [["x"]],
    { value: [] },
  ],
];

/** Replaces the nth part of a value in walking order. */
function replaced(value: unknown, at: number, odd: unknown): unknown {
  const size = sizeOf(value);
  const index = at % size;
  if (index === 0 && size === 1) return odd;
  return replacedAt(value, index, odd);
}

function replacedAt(value: unknown, at: number, odd: unknown): unknown {
  if (at === 0) return odd;
  let left = at - 1;
  const entries = Object.entries(value as object).map(([key, one]): [string, unknown] => {
    const size = sizeOf(one);
    const mine = left >= 0 && left < size;
    const result: [string, unknown] = [key, mine ? replacedAt(one, left, odd) : one];
    left -= size;
    return result;
  });
  return Array.isArray(value) ? entries.map(([, one]) => one) : Object.fromEntries(entries);
}

function sizeOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return 1 + Object.values(value).reduce<number>((sum, one) => sum + sizeOf(one), 0);
}
