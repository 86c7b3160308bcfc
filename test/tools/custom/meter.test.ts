import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { BackendAnswer } from "../../../src/tools/custom/backend.ts";
import { customToolsSchema } from "../../../src/tools/custom/config.ts";
import { Meter } from "../../../src/tools/custom/meter.ts";
import { settingsOf } from "./http/third-party.ts";

const PRICE = 1_000n;
const http = { openapi: "https://api.example/openapi.json", operation_id: "op" };

async function meterOf(section: object) {
  const warnings: object[] = [];
  const log = {
    info: () => {},
    warn: (details: object, message: string) => warnings.push({ ...details, message }),
    error: () => {},
  };
  const { meter } = settingsOf({ http, price: { flat_microusd: 1_000 }, meter: section });
  if (!meter) throw new Error("the settings have no meter");
  return { meter: await Meter.open(meter, log), warnings };
}

async function charged(section: object, answer: Partial<BackendAnswer>, params = {}) {
  const { meter, warnings } = await meterOf(section);
  return { charge: meter.charge({ result: {}, ...answer }, params, PRICE), warned: warnings.length };
}

describe("sources of a meter", () => {
  it.each<[object, Partial<BackendAnswer>, bigint]>([
    [{ json_pointer: "/usage/pages" }, { result: { usage: { pages: 7 } } }, 7n],
    [{ json_pointer: "/list/1" }, { result: { list: [3, 4] } }, 4n],
    [{ json_pointer: "/a~1b/~0c" }, { result: { "a/b": { "~c": 5 } } }, 5n],
    [{ json_pointer: "/n" }, { result: { n: "12" } }, 12n],
    [{ json_pointer: "/__proto__/n" }, { result: { n: 12 } }, PRICE],
    [{ header: "X-Pages" }, { headers: { "x-pages": "8" } }, 8n],
    [{ trailer: "X-Pages" }, { trailers: { "x-pages": " 9 " } }, 9n],
    [{ expression: "result.rows.size() * 2" }, { result: { rows: [1, 2, 3] } }, 6n],
    [
      { expression: "int(headers['x-ms']) + int(trailers['x-ms'])" },
      { headers: { "x-ms": "5" }, trailers: { "x-ms": "6" } },
      11n,
    ],
    [
      { expression: "meta['toolgate/receipt'].debited" },
      { meta: { "toolgate/receipt": { debited: 13 } } },
      13n,
    ],
    [{ expression: "result.ms / 1000.0" }, { result: { ms: 2_500.5 } }, 3n],
    [{ expression: "uint(14)" }, {}, 14n],
  ])("%j reads the value", async (section, answer, used) => {
    expect((await charged(section, answer)).charge).toBe(used);
  });

  it("reads the parameters in an expression", async () => {
    const expression = "params.pages - result.skipped";
    expect(await charged({ expression }, { result: { skipped: 2 } }, { pages: 6 })).toEqual({
      charge: 4n,
      warned: 0,
    });
  });

  it("resolves a field of a gRPC response to its members", async () => {
    const { meter } = await meterOf2();
    meter.describe({ fieldPath: (field) => field.split(".") });
    expect(meter.charge({ result: { usage: { pages: "21" } } }, {}, PRICE)).toBe(21n);
  });
});

async function meterOf2() {
  const [tool] = customToolsSchema.parse([
    {
      name: "t",
      price: { flat_microusd: 1_000 },
      meter: { field: "usage.pages" },
      grpc: { address: "a:1", method: "p.S/M" },
    },
  ]);
  if (!tool?.meter) throw new Error("the settings have no meter");
  return { meter: await Meter.open(tool.meter, { info: () => {}, warn: () => {}, error: () => {} }) };
}

describe("charge of a meter", () => {
  const pages = (value: unknown, more: object = {}) =>
    charged({ json_pointer: "/n", ...more }, { result: z.looseObject({}).parse({ n: value }) as never });

  it.each<[number | string, number | string, bigint]>([
    [3, "0.25", 1n],
    [4, 0.25, 1n],
    [5, "0.25", 2n],
    [0.1, 10, 1n],
    ["0.333333333", 3, 1n],
    ["0.3333333334", 3, 2n],
    [1e-12, 1, 1n],
    [999.5, 1, PRICE],
  ])("multiplies %s units by %s micro-USD and rounds up", async (value, microusd_per_unit, used) => {
    expect(await pages(value, { microusd_per_unit })).toEqual({ charge: used, warned: 0 });
  });

  it("is at least the minimum", async () => {
    expect((await pages(3, { minimum_microusd: 50 })).charge).toBe(50n);
    expect((await pages(0)).charge).toBe(1n);
  });

  it("warns of use above the price, which the ledger caps", async () => {
    const { charge, warned } = await pages(1e15);
    expect([charge > PRICE, warned]).toEqual([true, 1]);
  });

  const absurd = [
    undefined,
    null,
    -1,
    -0.5,
    "-3",
    Number.NaN,
    Infinity,
    1e16,
    1e300,
    "1e3",
    "",
    "many",
    "0x10",
    true,
    [5],
    { n: 5 },
  ];

  it.each(absurd)("charges the price and warns if the value is %j", async (value) => {
    expect(await pages(value)).toEqual({ charge: PRICE, warned: 1 });
  });

  it.each(absurd)("charges the minimum and warns if so configured and the value is %j", async (value) => {
    const minimum = { otherwise: "minimum", minimum_microusd: 20 };
    expect(await pages(value, minimum)).toEqual({ charge: 20n, warned: 1 });
  });

  it.each(["result.absent", "1 / 0", "'text'", "[1]", "-5", "0.0 / 0.0"])(
    "charges the price and warns if the expression %s has no usable value",
    async (expression) => {
      expect(await charged({ expression }, {})).toEqual({ charge: PRICE, warned: 1 });
    },
  );
});

describe("settings of a meter", () => {
  const problem = (meter: object, more: object = { http }) => {
    const { error } = customToolsSchema.safeParse([
      { name: "t", price: { flat_microusd: 1 }, meter, ...more },
    ]);
    return error?.issues.map(({ path, message }) => `${path.slice(1).join(".")}: ${message}`).join("; ");
  };

  it.each<[object, object | undefined, string]>([
    [{}, undefined, "meter: must have exactly one of json_pointer, field, header, trailer, expression"],
    [{ header: "a", trailer: "b" }, undefined, "meter: must have exactly one of"],
    [{ json_pointer: "usage" }, undefined, "meter.json_pointer: must be a JSON pointer such as /usage/pages"],
    [{ json_pointer: "/a~2" }, undefined, "meter.json_pointer: must be a JSON pointer"],
    [{ header: "a b" }, undefined, "meter.header: must be the name of a header"],
    [{ field: "usage" }, undefined, "meter.field: is for gRPC; use json_pointer"],
    [{ header: "a", microusd_per_unit: -1 }, undefined, "meter.microusd_per_unit: must be a decimal"],
    [{ header: "a", microusd_per_unit: "1e3" }, undefined, "meter.microusd_per_unit: must be a decimal"],
    [{ header: "a", otherwise: "free" }, undefined, "meter.otherwise: "],
    [{ header: "a", minimum_microusd: 0 }, undefined, "meter.minimum_microusd: "],
    [{ header: "a" }, { http, price: { free: true } }, "meter: leave it out of a free tool"],
    [
      { header: "a" },
      { mcp: { url: "https://a.example", tool: "t" } },
      "meter: must have json_pointer or expression",
    ],
  ])("rejects %j", (meter, more, message) => {
    expect(problem(meter, more)).toContain(message);
  });

  it("rejects an expression over other variables", async () => {
    await expect(meterOf({ expression: "answer.pages" })).rejects.toThrow(
      "uses the unknown names answer; only result, headers, trailers, meta, params are available",
    );
  });

  it("tells buyers the unit and its price", async () => {
    const { meter } = await meterOf({ header: "x-pages", unit: "page", microusd_per_unit: "2.50" });
    expect(meter.description).toBe("Charged by use, 2.50 micro-USD per page, at most the price.");
  });
});
