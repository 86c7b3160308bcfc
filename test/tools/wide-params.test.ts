import process from "node:process";
import { describe, expect, it } from "vitest";
import { ParameterCheck } from "../../src/tools/custom/parameter-check.ts";
import { defineTool } from "../../src/tools/define-tool.ts";
import { explainIssues } from "../../src/tools/explain-issues.ts";
import { z } from "zod";

/** CPU time for rejecting wrong parameters relative to parsing them. */

const UNKNOWN = JSON.stringify(Object.fromEntries(Array.from({ length: 130_000 }, (_, at) => [`a${at}`, 1])));
const ITEMS = JSON.stringify({ city: "x", list: Array.from({ length: 400_000 }, () => 1) });
const MEMBERS = Array.from({ length: 20 }, (_, at) => `member_${at}`);

/** Long enough for clocks that tick every 10 ms, micros. */
const WINDOW = 30_000;

const ROUNDS = 20;

function micros(work: () => unknown): number {
  const before = process.threadCpuUsage();
  for (let times = 1; ; times++) {
    work();
    const { user, system } = process.threadCpuUsage(before);
    if (user + system > WINDOW) return (user + system) / times;
  }
}

/**
 * How many times as much as parsing `text` the work costs: each at its least in some rounds, until that is
 * below `most`. Garbage and a busy machine add to single rounds.
 */
function timesParsing(text: string, work: () => unknown, most: number): number {
  let [least, parsing] = [Infinity, Infinity];
  for (let round = 0; round < 3 || (round < ROUNDS && least >= most * parsing); round++) {
    parsing = Math.min(
      parsing,
      micros(() => JSON.parse(text)),
    );
    least = Math.min(least, micros(work));
  }
  return least / parsing;
}

describe("parameters with 130,000 unknown members", () => {
  const params = JSON.parse(UNKNOWN) as Record<string, never>;
  const schema = z.strictObject(Object.fromEntries(MEMBERS.map((name) => [name, z.string().optional()])));
  const properties = Object.fromEntries(MEMBERS.map((name) => [name, {}]));

  it("are explained by the first five, and no others are looked at", () => {
    const issues = schema.safeParse(params, { reportInput: true }).error?.issues ?? [];
    expect(explainIssues(issues, { properties }).match(/is unknown/g)).toHaveLength(5);
    const explain = () => explainIssues(issues, { properties });
    expect(timesParsing(UNKNOWN, explain, 0.05)).toBeLessThan(0.05);
  });

  it("are refused by a tool at about the cost of parsing them", () => {
    const tool = defineTool({
      ...{ name: "wide", description: "", scope: undefined, price: undefined },
      params: schema,
      run: () => ({}),
    });
    const refused = () => expect(() => tool.prepare(params)).toThrow(/params\.a0: is unknown/);
    expect(timesParsing(UNKNOWN, refused, 3)).toBeLessThan(3);
  });

  it("are refused by a custom tool at a few times the cost of parsing them", () => {
    const check = new ParameterCheck({ type: "object", properties, additionalProperties: false });
    const refused = () =>
      expect(() => check.check(params, UNKNOWN)).toThrow(/^params\.a0: is unknown|cannot be checked/);
    expect(timesParsing(UNKNOWN, refused, 8)).toBeLessThan(8);
  });
});

it("a custom tool reports the first of 400,000 wrong items, and all of a few", () => {
  const params = JSON.parse(ITEMS) as Record<string, never>;
  const item = { type: "object", required: ["a"] };
  const list = { type: "array", items: item };
  const check = new ParameterCheck({ type: "object", properties: { city: { type: "string" }, list } });
  const refused = () =>
    expect(() => check.check(params, ITEMS)).toThrow(/^params\.list\[0\]: must be an object, not a number$/);
  expect(timesParsing(ITEMS, refused, 8)).toBeLessThan(8);
  expect(() => check.check({ city: 1, list: [1] })).toThrow(/params\.city: .*; params\.list\[0\]: /);
});
