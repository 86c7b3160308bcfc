import { describe, expect, it } from "vitest";
import { rulesOf } from "../../../src/tools/custom/check-cost.ts";
import { ParameterCheck } from "../../../src/tools/custom/parameter-check.ts";
import type { JsonObject } from "../../../src/domain/core/json.ts";

const withPattern = (pattern: string): JsonObject => ({ properties: { value: { pattern } } });

describe("the rules of a schema", () => {
  it.each([
    "^[a-z]+$",
    String.raw`^\d{4}-\d{2}-\d{2}$`,
    "^0x[0-9a-fA-F]{40}$",
    "^[A-Z]{2}(?:-[0-9]{3})?$",
    "^(asc|desc|none)$",
    String.raw`[*+?{|\]]`,
  ])("are few with the pattern %s", (pattern) => {
    expect(rulesOf(withPattern(pattern))).toBeLessThan(10);
  });

  it.each([
    "^(a+)+$",
    String.raw`^(\w+\s?)*$`,
    "[a-z]+$",
    "^a*a*$",
    "^(a|a)*$",
    "^(a|a)(a|a)$",
    "^a|b+",
    "[a-z]{1000}",
    "(?=a+)",
    String.raw`^(.*)\1$`,
    String.raw`^(?<word>.*)\k<word>$`,
  ])("are not bounded with the pattern %s", (pattern) => {
    expect(rulesOf(withPattern(pattern))).toBe(Infinity);
    expect(rulesOf({ patternProperties: { [pattern]: true } })).toBe(Infinity);
  });

  it("are counted each time that they are referred to, and not bounded in a circle", () => {
    const $defs = { one: { type: "string" }, list: { items: { $ref: "#/$defs/list" } } };
    const referring = (count: number): JsonObject => ({
      $defs,
      anyOf: Array.from({ length: count }, () => ({ $ref: "#/$defs/one" })),
    });
    expect(rulesOf(referring(20)) - rulesOf(referring(10))).toBe(
      10 * (rulesOf(referring(2)) - rulesOf(referring(1))),
    );
    for (const $ref of ["#/$defs/list", "#unknown", "https://a.b/c"])
      expect(rulesOf({ $defs, items: { $ref } })).toBe(Infinity);
    expect(rulesOf({ items: { $dynamicRef: "#one" } })).toBe(Infinity);
  });
});

const check = new ParameterCheck(withPattern("^(a+)+$"));
const quick = new ParameterCheck(withPattern("^[a-z]+$"));
const [SLOW, FAST] = [{ value: `${"a".repeat(60)}!` }, { value: "a!" }];
const by = (payer: string) => ({ payer, threadMs: 0 });
const checked = (payer: ReturnType<typeof by>, params: JsonObject, text = JSON.stringify(params)) =>
  check.checkFor(payer, params, text);

describe("checks that may take long", () => {
  it("leave the event loop to others, and report what they took", async () => {
    const payer = by("a");
    const turns: string[] = [];
    const slow = checked(payer, SLOW)?.catch(({ message }: Error) => turns.push(message));
    setImmediate(() => turns.push("another"));
    await slow;
    expect(turns).toEqual([
      "another",
      "params.value: cannot be checked in reasonable time; send shorter or fewer values",
    ]);
    expect(payer.threadMs).toBeGreaterThan(0);
    await expect(checked(payer, { value: "aa" })).resolves.toBeUndefined();
    await expect(checked(payer, FAST)).rejects.toMatchObject({
      code: "INVALID_REQUEST",
      message: "params.value: must match the pattern ^(a+)+$",
    });
  });

  it("are done at once where they cannot, or where nothing waits for them", () => {
    expect(() => quick.checkFor(by("a"), FAST, JSON.stringify(FAST))).toThrow(/must match/);
    expect(quick.checkFor(by("a"), { value: "a" }, "{}")).toBeUndefined();
    expect(() => check.checkFor(undefined, FAST, JSON.stringify(FAST))).toThrow(/must match/);
  });

  it("are done in turn for each payer, and refused when too many wait", async () => {
    const ended: string[] = [];
    const start = async (name: string, params: JsonObject) => {
      await checked(by(name), params)?.catch(({ code }: { code: string }) => ended.push(`${name} ${code}`));
    };
    const many = Array.from({ length: 34 }, () => start("many", SLOW));
    const one = start("one", FAST);
    await one;
    // One ran and 32 waited; the next of them had its turn before the other payer came.
    const before = ["many RATE_LIMITED", "many INVALID_REQUEST", "many INVALID_REQUEST"];
    expect(ended).toEqual([...before, "one INVALID_REQUEST"]);
    await Promise.all(many);
  });

  it("go on in another thread when theirs has failed", async () => {
    const failing = checked(by("a"), FAST, "no JSON");
    const next = checked(by("b"), FAST);
    await expect(failing).rejects.toMatchObject({ code: "INVALID_REQUEST", message: /cannot be checked/ });
    await expect(next).rejects.toMatchObject({ message: "params.value: must match the pattern ^(a+)+$" });
  });
});
