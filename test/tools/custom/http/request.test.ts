import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../../src/domain/core/json.ts";
import { inputsOf } from "../../../../src/tools/custom/http/inputs.ts";
import { findOperation } from "../../../../src/tools/custom/http/operation.ts";
import { composeRequest } from "../../../../src/tools/custom/http/request.ts";
import { openapi, operation } from "./third-party.ts";

/** Requests for parameters in the styles of OpenAPI 3.1, 4.8.12.4, with its example values. */

const COLOURS = { color: ["blue", "black", "brown"] };
const RGB = { color: { R: 100, G: 200, B: 150 } };

function compose(path: string, parameters: object[], params: JsonObject, more: object = {}) {
  const root = JSON.parse(
    JSON.stringify(openapi({ [path]: { post: operation("op", { parameters, ...more }) } })),
  );
  const document = { version: "3.1" as const, root };
  const inputs = inputsOf(document, findOperation(document, "op"), ["X-Api-Key"]);
  return composeRequest({ server: new URL("https://api.example/base/"), path, inputs }, params);
}

const pathUrl = (more: object, params: JsonObject) =>
  compose("/a/{color}/z", [{ name: "color", in: "path", required: true, ...more }], params).url.slice(24);
const queryUrl = (more: object, params: JsonObject) =>
  compose("/a", [{ name: "color", in: "query", ...more }], params).url.slice(26);

describe("parameter styles", () => {
  it.each([
    ["simple", {}, "/a/blue,black,brown/z", "/a/R,100,G,200,B,150/z"],
    ["simple, exploded", { explode: true }, "/a/blue,black,brown/z", "/a/R=100,G=200,B=150/z"],
    ["label", { style: "label" }, "/a/.blue,black,brown/z", "/a/.R,100,G,200,B,150/z"],
    [
      "label, exploded",
      { style: "label", explode: true },
      "/a/.blue.black.brown/z",
      "/a/.R=100.G=200.B=150/z",
    ],
    ["matrix", { style: "matrix" }, "/a/;color=blue,black,brown/z", "/a/;color=R,100,G,200,B,150/z"],
    [
      "matrix, exploded",
      { style: "matrix", explode: true },
      "/a/;color=blue;color=black;color=brown/z",
      "/a/;R=100;G=200;B=150/z",
    ],
  ])("serialises in the path: %s", (_, more, list, object) => {
    expect(pathUrl(more, COLOURS)).toBe(list);
    expect(pathUrl(more, RGB)).toBe(object);
  });

  it.each([
    ["form", {}, "?color=blue&color=black&color=brown", "?R=100&G=200&B=150"],
    ["form, not exploded", { explode: false }, "?color=blue,black,brown", "?color=R,100,G,200,B,150"],
    [
      "spaceDelimited",
      { style: "spaceDelimited" },
      "?color=blue%20black%20brown",
      "?color=R%20100%20G%20200%20B%20150",
    ],
    [
      "pipeDelimited",
      { style: "pipeDelimited" },
      "?color=blue%7Cblack%7Cbrown",
      "?color=R%7C100%7CG%7C200%7CB%7C150",
    ],
    [
      "deepObject",
      { style: "deepObject" },
      "?color=blue,black,brown",
      "?color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150",
    ],
    [
      "JSON",
      { content: { "application/json": {} } },
      "?color=%5B%22blue%22%2C%22black%22%2C%22brown%22%5D",
      "?color=%7B%22R%22%3A100%2C%22G%22%3A200%2C%22B%22%3A150%7D",
    ],
  ])("serialises in the query: %s", (_, more, list, object) => {
    expect(queryUrl(more, COLOURS)).toBe(list);
    expect(queryUrl(more, RGB)).toBe(object);
  });

  it("serialises headers and cookies", () => {
    const parameters = [
      { name: "X-Colours", in: "header" },
      { name: "X-Rgb", in: "header", explode: true },
      { name: "session", in: "cookie" },
      { name: "ids", in: "cookie", explode: false },
    ];
    const params = { "X-Colours": COLOURS.color, "X-Rgb": RGB.color, session: "a;b=ü", ids: [1, 2] };
    expect(compose("/a", parameters, params).headers).toEqual({
      "X-Colours": "blue,black,brown",
      "X-Rgb": "R=100,G=200,B=150",
      Cookie: "session=a%3Bb%3D%C3%BC; ids=1,2",
    });
  });

  it("omits null and empty values from the query", () => {
    for (const color of [null, [], {}]) expect(queryUrl({}, { color })).toBe("");
    expect(queryUrl({}, {})).toBe("");
    expect(queryUrl({}, { color: false })).toBe("?color=false");
    expect(queryUrl({}, { color: "" })).toBe("?color=");
  });

  it("serialises JSON and form bodies", () => {
    const body = { name: "ü", tags: ["a", "b"], more: { x: 1 } };
    const requestBody = (mediaType: string) => ({
      requestBody: { required: true, content: { [mediaType]: {} } },
    });
    expect(
      compose("/a", [], { body }, requestBody("application/merge-patch+json; charset=utf-8")),
    ).toMatchObject({
      body: JSON.stringify(body),
      headers: { "Content-Type": "application/merge-patch+json" },
    });
    expect(compose("/a", [], { body }, requestBody("application/x-www-form-urlencoded"))).toMatchObject({
      body: "name=%C3%BC&tags=a&tags=b&more=%7B%22x%22%3A1%7D",
      headers: { "Content-Type": "application/x-www-form-urlencoded" },
    });
  });
});

describe("parameter values", () => {
  it.each([
    ["a question mark", "a?admin=1", "/a/a%3Fadmin%3D1/z"],
    ["a fragment", "a#b", "/a/a%23b/z"],
    ["an escape", "%2e%2e%2f", "/a/%252e%252e%252f/z"],
    ["an address", "@evil.example:80", "/a/%40evil.example%3A80/z"],
    ["reserved characters", "a b&c=d;e,f!'()*", "/a/a%20b%26c%3Dd%3Be%2Cf%21%27%28%29%2A/z"],
  ])("keeps %s inside its path segment", (_, color, url) => {
    expect(pathUrl({}, { color })).toBe(url);
  });

  it.each([
    "..",
    ".",
    "",
    "../admin",
    "a/b",
    "a\\b",
    "a\u0000",
    "a\r\nX: y",
    ["..", "/"],
    { "a/b": "c" },
    null,
    [],
  ])("rejects %j in a path with the parameter's name", (color) => {
    expect(() => pathUrl({}, { color })).toThrow(/^params\.color: must not /);
  });

  it("rejects dots that form a dot segment only together", () => {
    const parameters = ["a", "b"].map((name) => ({ name, in: "path", required: true }));
    expect(() => compose("/x/{a}{b}/y", parameters, { a: ".", b: "." })).toThrow(/^params/);
    expect(compose("/x/{a}{b}/y", parameters, { a: "...", b: "x" }).url).toContain("/x/...x/y");
  });

  it.each(["a\r\nX-Evil: 1", "ü", "a\u0000", " a"])("rejects %j in a header", (value) => {
    expect(() => compose("/a", [{ name: "X-Note", in: "header" }], { "X-Note": value })).toThrow(
      /^params\["X-Note"\]: must be visible characters of ASCII/,
    );
  });

  it("prevents a query parameter from overriding another", () => {
    const parameters = [
      { name: "filter", in: "query" },
      { name: "limit", in: "query" },
    ];
    expect(() => compose("/a", parameters, { filter: { limit: 9 } })).toThrow(
      /^params\.filter: must not have a member limit/,
    );
    expect(compose("/a", parameters, { filter: "x&limit=9" }).url).toMatch(/\?filter=x%26limit%3D9$/);
  });

  it("rejects nested values and lone surrogates in a query", () => {
    expect(() => queryUrl({}, { color: [[1]] })).toThrow(
      /^params\.color: must contain only strings, numbers and booleans/,
    );
    expect(() => queryUrl({}, { color: { a: { b: 1 } } })).toThrow(/^params\.color/);
    expect(() => queryUrl({}, { color: "\ud800" })).toThrow(/^params\.color: must be well-formed/);
  });
});

describe("inputs of an operation", () => {
  const schemaOf = (parameters: object[], more: object = {}) => {
    const root = JSON.parse(
      JSON.stringify(
        openapi({
          "/a/{id}": {
            parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
            post: operation("op", { parameters, ...more }),
          },
        }),
      ),
    );
    const document = { version: "3.1" as const, root };
    return inputsOf(document, findOperation(document, "op"), ["X-Api-Key"]).schema;
  };

  it("names parameters, prefixes shared names with the location, and calls the body body", () => {
    const requestBody = { required: true, content: { "application/json": { schema: { type: "object" } } } };
    const parameters = [
      { name: "id", in: "query", schema: { type: "integer" }, description: "Which" },
      { name: "body", in: "query" },
    ];
    expect(schemaOf(parameters, { requestBody })).toEqual({
      type: "object",
      properties: {
        query_id: { type: "integer", description: "Which" },
        query_body: {},
        path_id: { type: "string" },
        body: { type: "object" },
      },
      required: ["path_id", "body"],
      additionalProperties: false,
    });
  });

  it("omits headers set by the operator or by HTTP", () => {
    const headers = ["x-api-key", "Authorization", "Accept", "Content-Type", "Idempotency-Key", "X-Mine"];
    const schema = schemaOf(headers.map((name) => ({ name, in: "header", required: name === "x-api-key" })));
    expect(Object.keys(schema["properties"] ?? {})).toEqual(["X-Mine", "id"]);
    expect(() => schemaOf([{ name: "Host", in: "header", required: true }])).toThrow(/set it in headers_env/);
  });
});
