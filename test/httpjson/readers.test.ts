import { create } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { JsonFieldError } from "#httpjson/runtime/index.ts";
import { timestampToMilliseconds } from "#httpjson/runtime/time-json.ts";
import { kindsFromJson, kindsToJson } from "./gen/own/kinds_http.ts";
import { bookFromJson } from "./gen/own/library_http.ts";

function refusal(json: unknown): string {
  try {
    kindsFromJson(json);
  } catch (error) {
    if (error instanceof JsonFieldError) {
      return error.message;
    }
    throw error;
  }
  return "none";
}

describe("a JSON error names the field", () => {
  it.each([
    [{ text: 1 }, "text: must be a string"],
    [{ text: "a\udc00" }, "text: must be well-formed Unicode: it has a lone surrogate"],
    [{ nested: { given_name: 1 } }, "nested.given_name: must be a string"],
    [
      { persons: [{}, {}, { friends: [{ given_name: false }] }] },
      "persons[2].friends[0].given_name: must be a string",
    ],
    [{ labels: { "x-a": 1 } }, 'labels["x-a"]: must be a string'],
    [
      { struct: { a: [1, { b: "\ud800" }] } },
      "struct.a[1].b: must be well-formed Unicode: it has a lone surrogate",
    ],
    [{ nope: 1 }, "nope: unknown field"],
    [{ nested: { nope: 1 } }, "nested.nope: unknown field"],
    [{ ["n".repeat(1000)]: 1 }, `${"n".repeat(80)}…: unknown field`],
    [JSON.parse('{"__proto__":{"text":"a"}}'), "__proto__: unknown field"],
    [{ constructor: {} }, "constructor: must be a string"],
    [{ opt_text: "a", optText: "b" }, "opt_text: given twice, as opt_text and as optText"],
    [{ chosen_text: "a", chosenI64: 1 }, "chosen_i64: only one member of choice may be given"],
    [[], "body: must be an object"],
    [null, "body: must be an object"],
    ["{}", "body: must be an object"],
  ])("%j", (json, message) => {
    expect(refusal(json)).toBe(message);
  });
});

describe("64-bit integers", () => {
  it.each([0, -1, 2 ** 53 - 1, "0", "-9223372036854775808", "9223372036854775807", "1e3", "-0"])(
    "are read from %j",
    (i64) => {
      expect(kindsFromJson({ i64 }).i64).toBe(
        BigInt(Number.isInteger(i64) ? i64 : i64 === "1e3" ? 1000 : i64),
      );
    },
  );

  it.each([
    1.5,
    2 ** 53,
    2 ** 63,
    Number.NaN,
    Infinity,
    "",
    " 1",
    "1.5",
    "0x10",
    "9223372036854775808",
    "-9223372036854775809",
    "1".repeat(100_000),
    true,
    {},
  ])("are rejected as %j", (i64) => {
    expect(refusal({ i64 })).toMatch(/^i64: must be/);
  });

  it("are written as numbers while exact, as strings beyond", () => {
    const write = (i64: bigint): unknown => kindsToJson({ ...kindsFromJson({}), i64 }).i64;
    expect([2n ** 53n - 1n, -(2n ** 53n) + 1n, 2n ** 53n, -(2n ** 53n)].map(write)).toEqual([
      9007199254740991,
      -9007199254740991,
      "9007199254740992",
      "-9007199254740992",
    ]);
  });
});

describe("enums", () => {
  const genre = (value: unknown): number => bookFromJson({ genre: value }).genre;

  it("are read by json_value, by every name and by number", () => {
    expect(["fiction", "GENRE_FICTION", "GENRE_NOVEL", 1].map(genre)).toEqual([1, 1, 1, 1]);
    expect(["GENRE_SCIENCE", 2, 7].map(genre)).toEqual([2, 2, 7]);
  });

  it("are rejected as other strings or as numbers beyond int32", () => {
    for (const value of ["science", "Fiction", "", "1", 1.5, 2 ** 31, true, {}]) {
      expect(() => genre(value)).toThrow("genre: must be one of any, fiction, GENRE_SCIENCE");
    }
  });
});

describe("timestamps", () => {
  const time = (value: string): unknown => kindsFromJson({ time: value }).time;
  const written = (value: string): unknown => kindsToJson(kindsFromJson({ time: value })).time;

  it("are written in UTC with as many fraction digits as needed: 0, 3, 6 or 9", () => {
    expect(written("2026-01-31T12:00:00+02:00")).toBe("2026-01-31T10:00:00Z");
    expect(written("2026-01-31T12:00:00.5Z")).toBe("2026-01-31T12:00:00.500Z");
    expect(written("2026-01-31T12:00:00.0005Z")).toBe("2026-01-31T12:00:00.000500Z");
    expect(written("2026-01-31T12:00:00.000000001Z")).toBe("2026-01-31T12:00:00.000000001Z");
    expect(written("1969-12-31T23:59:59.999Z")).toBe("1969-12-31T23:59:59.999Z");
    expect(written("0001-01-01T00:00:00Z")).toBe("0001-01-01T00:00:00Z");
  });

  it("sort as texts when they are written in milliseconds", () => {
    const digits = (nanos: number) =>
      timestampToMilliseconds(create(TimestampSchema, { seconds: 45n, nanos }));
    const texts = [0, 1, 999_999, 1_000_000, 120_000_000, 999_999_999].map(digits);
    expect(texts.map((text) => text.slice(17))).toEqual([
      "45.000Z",
      "45.000Z",
      "45.000Z",
      "45.001Z",
      "45.120Z",
      "45.999Z",
    ]);
    expect(texts).toEqual(texts.toSorted());
  });

  it.each([
    ...[
      "2026-02-30T00:00:00Z",
      "2026-01-01T24:00:00Z",
      "2026-01-01T00:00:60Z",
      "2026-01-01T00:00:00",
      "2026-01-01t00:00:00z",
      "2026-01-01",
    ],
    ...[
      "0001-01-01T00:00:00+01:00",
      "9999-12-31T23:59:59-01:00",
      "2026-01-01T00:00:00+24:00",
      "2026-01-01T00:00:00.1234567890Z",
      "",
    ],
  ])("are rejected as %j", (value) => {
    expect(() => time(value)).toThrow(JsonFieldError);
  });
});

describe("maps", () => {
  it("keep a key __proto__ as an entry", () => {
    const { labels } = kindsFromJson(JSON.parse('{"labels":{"__proto__":"a","constructor":"b"}}'));
    expect(Object.entries(labels)).toEqual([
      ["__proto__", "a"],
      ["constructor", "b"],
    ]);
    expect(Object.getPrototypeOf(labels)).toBe(Object.prototype);
    expect(
      JSON.stringify(
        kindsToJson(kindsFromJson(JSON.parse('{"by_u64":{"1":{}},"any_values":{"__proto__":1}}'))).any_values,
      ),
    ).toBe('{"__proto__":1}');
  });

  it.each([
    { by_i32: { "01": 1 } },
    { by_i32: { "1.0": 1 } },
    { by_i32: { "2147483648": 1 } },
    { by_u64: { "-1": {} } },
    { by_bool: { TRUE: 0 } },
    { labels: { a: null } },
  ])("reject keys in other forms and null values: %j", (json) => {
    expect(refusal(json)).toMatch(/^(?:by_i32|by_u64|by_bool|labels)\["/);
  });
});

describe("null", () => {
  it("leaves a field unset, and is a value of Value and NullValue only", () => {
    expect(
      kindsFromJson({
        text: null,
        opt_text: null,
        texts: null,
        labels: null,
        chosen_text: null,
        time: null,
        struct: null,
      }),
    ).toEqual(kindsFromJson({}));
    expect(kindsFromJson({ value: null }).value).toMatchObject({ kind: { case: "nullValue" } });
    expect(kindsFromJson({ chosen_null: null }).choice).toEqual({ case: "chosenNull", value: 0 });
    expect(refusal({ texts: [null] })).toBe("texts[0]: must be a string");
  });
});

describe("free-form JSON", () => {
  it("is the parsed object, with inherited key names as plain members", () => {
    const struct: unknown = JSON.parse('{"__proto__":{"polluted":true},"constructor":1}');
    const message = kindsFromJson({ struct });
    expect(message.struct).toBe(struct);
    expect(JSON.stringify(kindsToJson(message).struct)).toBe(
      '{"__proto__":{"polluted":true},"constructor":1}',
    );
    expect({}).not.toHaveProperty("polluted");
  });

  it("rejects numbers beyond double, which JSON.parse makes infinite", () => {
    expect(refusal(JSON.parse('{"struct":{"a":1e400}}'))).toBe(
      "struct.a: must be a number in the range of double",
    );
    expect(refusal(JSON.parse('{"number":1e400}'))).toBe("number: must be a number");
  });
});
