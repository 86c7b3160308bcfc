import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/domain/core/json.ts";
import { customToolsSchema } from "../../../src/tools/custom/config.ts";
import { PriceExpression, type PriceBounds } from "../../../src/tools/custom/price-expression.ts";

const price = (text: string, params: JsonObject, bounds: PriceBounds = {}) =>
  new PriceExpression(text, bounds).priceOf(params);

describe("price expression", () => {
  it.each<[string, JsonObject, bigint]>([
    ["100 * params.pages", { pages: 3 }, 300n],
    ["has(params.pages) ? params.pages : 7", {}, 7n],
    ["size(params.text) * 2", { text: "häh" }, 6n],
    ["size(params.items) + params.items.map(i, i.n).size()", { items: [{ n: 1 }, { n: 2 }] }, 4n],
    ["params.size == 'large' ? 5000 : 500", { size: "large" }, 5_000n],
    ["int(double(params.hours) * 1500.0)", { hours: 2.5 }, 3_750n],
    ["params['odd name'].n", { "odd name": { n: 9 } }, 9n],
    // Beyond float precision.
    ["9007199254740990 + params.n", { n: 1 }, 9_007_199_254_740_991n],
    ["params.text.matches('^(a+)+$') ? 1 : 2", { text: `${"a".repeat(60)}!` }, 2n],
  ])("evaluates %s over %j to %s micro-USD", (text, params, expected) => {
    expect(price(text, params)).toBe(expected);
  });

  it("clamps to the minimum and maximum exactly", () => {
    const bounds = { minimum: 100n, maximum: 200n };
    expect([1, 99, 100, 101, 200, 201].map((n) => price("params.n", { n }, bounds))).toEqual([
      100n,
      100n,
      100n,
      101n,
      200n,
      200n,
    ]);
  });

  it.each<[string, JsonObject, RegExp]>([
    ["params.n", { n: 0 }, /value is 0, which is below 1/],
    ["params.n", { n: -5 }, /value is -5/],
    ["params.n", { n: 1.5 }, /is not an integer/],
    ["params.n * 1.0", { n: 1 }, /no matching overload/],
    ["params.n", { n: 1e300 }, /is not an integer/],
    ["params.n", { n: "5" }, /is not an integer/],
    ["params.n", {}, /field not found: n/],
    ["params.n / 0", { n: 1 }, /zero/],
    ["params.n * 9223372036854775807", { n: 2 }, /overflow/],
    ["params.n * 9007199254740991", { n: 2 }, /more than \$9007199254\.740991/],
  ])("rejects %s over %j as INVALID_REQUEST naming params", (text, params, message) => {
    expect(() => price(text, params, { minimum: 1n })).toThrow(
      expect.objectContaining({
        code: "INVALID_REQUEST",
        message: expect.stringMatching(/^params: their price/),
      }),
    );
    expect(() => price(text, params)).toThrow(message);
  });

  it.each([
    ["params.l.all(a, params.l.all(b, params.l.all(c, c >= 0))) ? 1 : 2", 3_000],
    ["params.l.all(a, params.l.exists(b, b == 0)) ? 1 : 2", 3_000],
    ["params.l.exists(a, params.l.all(b, b >= 0)) || true ? 1 : 2", 10_000],
    ["{'a': params.l.map(a, a).filter(a, a > 0)}.a[0]", 6_000],
  ])("limits what the loops of %s go through", (text, length) => {
    const list = Array.from({ length }, (_, index) => index);
    const message = "params: their price cannot be computed (its loops go through more than 5000 items)";
    expect(() => price(text, { l: list })).toThrow(message);
    expect(price(text, { l: [0, 1] })).toBe(1n);
  });

  it.each([
    ["params.n +", /expecting/],
    ["other + 1", /uses the unknown names other; only params/],
    ["params.l.all(x, x > y) ? 1 : 2", /uses the unknown names y/],
    ["now() + params.n", /uses the unknown names now\(\)/],
    ["math.greatest(1, 2)", /uses the unknown names greatest\(\), math/],
    ["{'a': z}.a", /uses the unknown names z/],
  ])("rejects %s at startup", (text, message) => {
    expect(() => new PriceExpression(text, {})).toThrow(message);
  });
});

describe("price in the configuration file", () => {
  const problemsOf = (value: unknown) => {
    const http = { openapi: "a.yaml", operation_id: "op" };
    const parsed = customToolsSchema.safeParse([{ name: "t", price: value, http }]);
    return parsed.success
      ? []
      : parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  };

  it("accepts one of three forms with whole numbers of micro-USD", () => {
    for (const value of [{ flat_microusd: 1 }, { free: true }, { expression: "1", minimum_microusd: 5 }])
      expect(problemsOf(value)).toEqual([]);
    const bad = [
      ...[
        undefined,
        {},
        { flat_microusd: 0 },
        { flat_microusd: 1.5 },
        { flat_microusd: "1" },
        { free: false },
      ],
      ...[{ flat_microusd: 1, free: true }, { expression: "" }, { expression: "1", maximum: 3 }],
    ];
    for (const value of bad)
      expect(problemsOf(value), JSON.stringify(value)).toEqual([expect.stringMatching(/^0\.price/)]);
    expect(problemsOf({ expression: "1", minimum_microusd: 5, maximum_microusd: 4 })).toEqual([
      expect.stringContaining("must be"),
    ]);
  });
});

describe("an expression and the schema of its parameters", () => {
  const schema: JsonObject = {
    type: "object",
    properties: {
      body: { $ref: "#/$defs/body" },
      "a-b": { type: "number" },
      free: { type: "object", properties: { a: {} }, additionalProperties: true },
      list: { type: "array", items: { type: "object", properties: { n: {} } } },
      any: {},
    },
    $defs: { body: { anyOf: [{ type: "object", properties: { text: {} } }, { type: "null" }] } },
  };
  const problem = (expression: string) => new PriceExpression(expression, {}).problemWith(schema);

  it.each([
    "size(params.body.text)",
    'int(params["a-b"])',
    "has(params.free.other) ? 2 : 1",
    "params.list.map(one, one.m).size() + params.list[0].n",
    "params.any.thing.other",
    "size(params)",
    "1",
  ])("fit: %s", (expression) => {
    expect(problem(expression)).toBeUndefined();
  });

  it.each([
    ["size(params.text)", "params.text"],
    ['size(params["text"])', "params.text"],
    ["has(params.text) ? 2 : 1", "params.text"],
    ["1 + params.body.txt.size()", "params.body.txt"],
    ["params.list.all(one, one == params.nothing) ? 2 : 1", "params.nothing"],
  ])("do not fit: %s", (expression, named) => {
    expect(problem(expression)).toBe(
      `names ${named}, which does not exist; there is params.body.text, params.a-b, params.free.a, ` +
        "params.list, params.any",
    );
  });
});
