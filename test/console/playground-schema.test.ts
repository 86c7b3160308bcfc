import { describe, expect, it } from "vitest";
import {
  fieldsFromSchema,
  parseJson,
  paramsFromTexts,
  formatValue,
} from "../../src/console/pages/playground/schema.ts";

const SCHEMA = {
  type: "object",
  required: ["prompt", "count", "mode"],
  properties: {
    temperature: { type: "number" },
    prompt: { type: "string", description: "The prompt" },
    label: { type: "string" },
    count: { type: "integer" },
    mode: { type: "string", enum: ["fast", "good", 3] },
    deep: { type: "boolean" },
    messages: { type: "array", items: {} },
    odd: true,
  },
};
const FIELDS = fieldsFromSchema(SCHEMA);
const NEEDED = { prompt: "p", count: "1", mode: "fast" };

describe("fieldsFromSchema", () => {
  it("lists required fields first and keeps the schema order", () => {
    const names = FIELDS.map(({ name }) => name);
    expect(names).toEqual(["prompt", "count", "mode", "temperature", "label", "deep", "messages", "odd"]);
    expect(FIELDS.filter(({ required }) => required)).toHaveLength(3);
  });

  it("derives input types from the schema and falls back to JSON", () => {
    expect(Object.fromEntries(FIELDS.map(({ name, kind }) => [name, kind]))).toEqual({
      ...{ prompt: "text", count: "integer", mode: "choice", temperature: "number" },
      ...{ label: "line", deep: "boolean", messages: "json", odd: "json" },
    });
    expect(FIELDS.find(({ name }) => name === "mode")?.options).toEqual(["fast", "good", "3"]);
  });

  it("returns no fields without schema properties", () => {
    for (const schema of [undefined, {}, { properties: [] }, { properties: "all" }])
      expect(fieldsFromSchema(schema)).toEqual([]);
  });
});

describe("paramsFromTexts", () => {
  it("converts texts to schema types and omits empty ones", () => {
    const texts = {
      ...NEEDED,
      count: " -7 ",
      temperature: "0.5",
      deep: "false",
      messages: '[{"a":null}]',
      label: "",
    };
    expect(paramsFromTexts(FIELDS, texts)).toEqual({
      params: {
        prompt: "p",
        count: -7,
        mode: "fast",
        temperature: 0.5,
        deep: false,
        messages: [{ a: null }],
      },
      fieldErrors: {},
    });
  });

  it("reports an error for every empty required field, text too", () => {
    expect(paramsFromTexts(FIELDS, {})).toEqual({
      params: {},
      fieldErrors: { prompt: "Required", count: "Required", mode: "Required" },
    });
  });

  it.each([
    ["count", "1.5", "Enter a whole number"],
    ["count", "1e3", "Enter a whole number"],
    ["count", "12345678901234567", "Enter a whole number"],
    ["temperature", "warm", "Enter a number"],
    ["temperature", " ", "Enter a number"],
    ["temperature", "Infinity", "Enter a number"],
    ["messages", "[", "Invalid JSON"],
  ])("reports an error for %s %j", (name, text, message) => {
    const { params, fieldErrors } = paramsFromTexts(FIELDS, { ...NEEDED, [name]: text });
    expect(fieldErrors[name]).toContain(message);
    expect(Object.keys(fieldErrors)).toEqual([name]);
    expect(params).not.toHaveProperty(name);
  });
});

describe("parseJson", () => {
  it("parses every JSON type and formats it back", () => {
    for (const value of [null, true, 0.1, "", [], { a: [1, { b: "ü" }] }])
      expect(parseJson(JSON.stringify(value))).toEqual({ value });
    expect(formatValue({ a: 1 })).toBe('{\n  "a": 1\n}');
    expect([formatValue("as it is"), formatValue(undefined)]).toEqual(["as it is", ""]);
  });

  it("reports errors without the parser prefix", () => {
    expect(parseJson("{'a': 1}")).toMatchObject({
      error: expect.not.stringContaining("cannot decode message"),
    });
  });
});
