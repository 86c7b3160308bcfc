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

describe("the form of a tool", () => {
  it("has what must be filled in first, and otherwise keeps the order of the schema", () => {
    const names = FIELDS.map(({ name }) => name);
    expect(names).toEqual(["prompt", "count", "mode", "temperature", "label", "deep", "messages", "odd"]);
    expect(FIELDS.filter(({ required }) => required)).toHaveLength(3);
  });

  it("asks for each parameter as its schema has it, and for JSON where that says nothing", () => {
    expect(Object.fromEntries(FIELDS.map(({ name, kind }) => [name, kind]))).toEqual({
      ...{ prompt: "text", count: "integer", mode: "choice", temperature: "number" },
      ...{ label: "line", deep: "boolean", messages: "json", odd: "json" },
    });
    expect(FIELDS.find(({ name }) => name === "mode")?.options).toEqual(["fast", "good", "3"]);
  });

  it("has no field where there is no schema, or one without properties", () => {
    for (const schema of [undefined, {}, { properties: [] }, { properties: "all" }])
      expect(fieldsFromSchema(schema)).toEqual([]);
  });
});

describe("what is typed into it", () => {
  it("goes out as what the schema asks for; what is empty is left out", () => {
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

  it("may be an empty text where a text must be given, and nothing else may be empty there", () => {
    expect(paramsFromTexts(FIELDS, {})).toEqual({
      params: { prompt: "" },
      fieldErrors: { count: "Fill this in", mode: "Fill this in" },
    });
  });

  it.each([
    ["count", "1.5", "Enter a whole number"],
    ["count", "1e3", "Enter a whole number"],
    ["count", "12345678901234567", "Enter a whole number"],
    ["temperature", "warm", "Enter a number"],
    ["temperature", " ", "Enter a number"],
    ["temperature", "Infinity", "Enter a number"],
    ["messages", "[", "This is not JSON"],
  ])("is told when it is wrong: %s %j", (name, text, told) => {
    const { params, fieldErrors } = paramsFromTexts(FIELDS, { ...NEEDED, [name]: text });
    expect(fieldErrors[name]).toContain(told);
    expect(Object.keys(fieldErrors)).toEqual([name]);
    expect(params).not.toHaveProperty(name);
  });
});

describe("JSON that is typed", () => {
  it("is read with every kind of value, and shown as it was read", () => {
    for (const value of [null, true, 0.1, "", [], { a: [1, { b: "ü" }] }])
      expect(parseJson(JSON.stringify(value))).toEqual({ value });
    expect(formatValue({ a: 1 })).toBe('{\n  "a": 1\n}');
    expect([formatValue("as it is"), formatValue(undefined)]).toEqual(["as it is", ""]);
  });

  it("is told about in words without those of the parser's message", () => {
    expect(parseJson("{'a': 1}")).toMatchObject({
      error: expect.not.stringContaining("cannot decode message"),
    });
  });
});
