import { afterEach, describe, expect, it } from "vitest";
import type { JsonValue } from "../../../src/domain/core/json.ts";
import type { SelfTestStatus } from "../../../src/domain/tools/sandbox.ts";
import { cancelTool } from "../../../src/tools/sandbox/cancel.ts";
import { executeTool, resultOf } from "../../../src/tools/sandbox/execute.ts";
import { refusalOf } from "../tool-context.ts";
import { SUCCEEDED, unaskedSandbox } from "./scripted-engine.ts";

/** Validation and prices of sandbox calls. */
let proof: SelfTestStatus = "passed";
const deps = unaskedSandbox(() => proof);
const prices = { microusd_per_second: 100n, minimum_microusd: 1_000n };
const execute = executeTool(deps, prices);
const cancel = cancelTool(deps);
const CALL = { language: "python", code: "1" };
const refusal = (more: object) => refusalOf(execute, JSON.stringify({ ...CALL, ...more }));
const priceOf = (more: object, table = prices) =>
  executeTool(deps, table).prepare({ ...CALL, ...more }).price;

describe("parameters of sandbox_execute", () => {
  it.each([
    [{ language: "ruby" }, /params\.language: must be one of "python", "javascript"/],
    [{ language: undefined }, /params\.language: /],
    [{ code: undefined }, /params\.code: is required/],
    [{ code: "" }, /params\.code: must have at least 1 character/],
    [{ code: "x".repeat(262_145) }, /params\.code: must have at most 262144/],
    [{ code: "ü".repeat(131_073) }, /params\.code: must have at most 262144 bytes as UTF-8/],
    [{ stdin: "ü".repeat(131_073) }, /params\.stdin: must have at most 262144 bytes as UTF-8/],
    [{ timeout_ms: 99 }, /params\.timeout_ms: must be at least 100/],
    [{ timeout_ms: 30_001 }, /params\.timeout_ms: must be at most 30000/],
    [{ timeout_ms: 100.5 }, /params\.timeout_ms: must be a whole number/],
    [{ timeout_ms: "100" }, /params\.timeout_ms: must be a number/],
    [{ run_id: "" }, /params\.run_id: must be 1 to 64 characters/],
    [{ run_id: "x".repeat(65) }, /params\.run_id: must be 1 to 64 characters/],
    [{ run_id: "a.b" }, /params\.run_id: must be 1 to 64 characters/],
    [{ run_id: "a\n" }, /params\.run_id: must be 1 to 64 characters/],
    [{ run_id: "run_mine" }, /params\.run_id: .*not begin with run_/],
    [
      { env: {} },
      /params\.env: is unknown, leave it out, there are language, code, stdin, timeout_ms, run_id/,
    ],
    [{ memory_mb: 1 }, /params\.memory_mb: is unknown/],
  ])("are rejected by name: %j", (more, says) => {
    expect(refusal(more)).toMatch(says);
    expect(refusal(more)).toMatch(/^INVALID_REQUEST /);
  });

  it.each([
    { code: "x".repeat(262_144), stdin: "y".repeat(262_144) },
    { code: "ü".repeat(131_072) },
    { language: "javascript", timeout_ms: 100 },
    { timeout_ms: 30_000, run_id: "x".repeat(64) },
    { run_id: "a_B-9" },
    { run_id: "runs" },
  ])("are accepted up to their limits", (more) => {
    expect(priceOf(more)).toBeGreaterThan(0n);
  });
});

describe("price of an execution", () => {
  it.each([
    [{}, 1_000n],
    [{ timeout_ms: 100 }, 1_000n],
    [{ timeout_ms: 10_000 }, 1_000n],
    [{ timeout_ms: 10_001 }, 1_001n],
    [{ timeout_ms: 10_010 }, 1_001n],
    [{ timeout_ms: 10_011 }, 1_002n],
    [{ timeout_ms: 30_000 }, 3_000n],
  ])("is the time limit's price, rounded up, with a minimum: %j", (more, price) => {
    expect(priceOf(more)).toBe(price);
  });

  it("is configurable", () => {
    expect(priceOf({ timeout_ms: 1_500 }, { microusd_per_second: 7n, minimum_microusd: 1n })).toBe(11n);
    expect(priceOf({}, { microusd_per_second: 1n, minimum_microusd: 50n })).toBe(50n);
  });
});

describe("parameters of sandbox_cancel", () => {
  it("accept a name or a run id", () => {
    for (const run_id of ["mine", `run_${"0".repeat(32)}`]) expect(cancel.prepare({ run_id }).price).toBe(0n);
    for (const params of [
      "{}",
      '{"run_id":""}',
      '{"run_id":7}',
      '{"run_id":"a b"}',
      '{"run_id":"a","reason":"b"}',
    ])
      expect(refusalOf(cancel, params)).toMatch(/^INVALID_REQUEST params\.(run_id|reason): /);
  });
});

describe("sandbox tools", () => {
  afterEach(() => {
    proof = "passed";
  });

  it("stay active during the self-test: calls are UNAVAILABLE with a retry time, cancels work", () => {
    proof = "running";
    expect([execute.status, cancel.status]).toEqual(["active", "active"]);
    expect(() => execute.prepare(CALL)).toThrow(
      expect.objectContaining({ code: "UNAVAILABLE", status: 503, rpc: "UNAVAILABLE", retryAfterSeconds: 5 }),
    );
    expect(() => execute.prepare({ language: "ruby" })).toThrow(
      expect.objectContaining({ code: "INVALID_REQUEST" }),
    );
    expect(cancel.prepare({ run_id: "mine" }).price).toBe(0n);
  });

  it("make only sandbox_execute unavailable when the self-test failed", () => {
    proof = "failed";
    expect([execute.status, cancel.status]).toEqual(["coming_soon", "active"]);
    proof = "passed";
    expect([execute.status, cancel.status]).toEqual(["active", "active"]);
    expect([execute.billable, cancel.billable]).toEqual([true, false]);
  });
});

describe("results of code", () => {
  const named = { runId: "mine", language: "python", engine: "scripted" };
  const nested = (levels: number): JsonValue => (levels === 0 ? 1 : [nested(levels - 1)]);

  it("are returned up to the nesting limit", () => {
    expect(resultOf({ ...SUCCEEDED, result: nested(64) }, named)["result"]).toEqual(nested(64));
    expect(resultOf({ ...SUCCEEDED, result: nested(65) }, named)["result"]).toBeNull();
    expect(resultOf({ ...SUCCEEDED, result: { a: [nested(63)] } }, named)["result"]).toBeNull();
  });

  it("may nest 100,000 levels without harm", () => {
    const result = JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`) as JsonValue;
    expect(resultOf({ ...SUCCEEDED, result }, named)["result"]).toBeNull();
  });
});
