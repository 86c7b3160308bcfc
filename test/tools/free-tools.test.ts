import { describe, expect, it } from "vitest";
import { echo } from "../../src/tools/echo.ts";
import { getStatus } from "../../src/tools/get-status.ts";
import { NO_DEPS } from "./no-deps.ts";
import { call, refusalOf } from "./tool-context.ts";

const ECHO = echo.make(NO_DEPS, {});

const UNKNOWN = "is unknown, leave it out, there are message";

describe("echo", () => {
  it("echo returns the message unchanged", async () => {
    const message = 'héllo \u{1F600} "quoted"\n';
    await expect(call(ECHO, JSON.stringify({ message }))).resolves.toEqual({ echo: message });
  });

  it("echo returns an empty message", async () => {
    await expect(call(ECHO, '{"message":""}')).resolves.toEqual({ echo: "" });
  });

  it("echo is free and needs no scope", () => {
    expect(ECHO).toMatchObject({
      status: "active",
      billable: false,
      scope: undefined,
      fixedPrice: undefined,
    });
    expect(ECHO.prepare({ message: "x" }).price).toBe(0n);
  });

  it.each([
    ["{}", "params.message: is required, a string"],
    ['{"message":5}', "params.message: must be a string, not a number"],
    ['{"message":null}', "params.message: must be a string, not null"],
    ['{"message":["x"]}', "params.message: must be a string, not an array"],
    ['{"message":"x","massage":"y"}', `params.massage: ${UNKNOWN}`],
    ['{"message":"x","__proto__":{"message":"y"}}', `params.__proto__: ${UNKNOWN}`],
    [
      '{"__proto__":{"message":"y"}}',
      "params.message: is required, a string; params.__proto__: is unknown, leave it " +
        "out, there are message",
    ],
    ['{"message":"x","a b":1}', `params["a b"]: ${UNKNOWN}`],
  ])("echo rejects %s", (params, refusal) => {
    expect(refusalOf(ECHO, params)).toBe(`INVALID_REQUEST ${refusal}`);
  });

  it("echo accepts up to 65536 characters", () => {
    expect(ECHO.prepare({ message: "x".repeat(65_536) }).price).toBe(0n);
    expect(refusalOf(ECHO, JSON.stringify({ message: "x".repeat(65_537) }))).toBe(
      "INVALID_REQUEST params.message: must have at most 65536 characters",
    );
  });

  it("echo truncates long names of unknown members in its error", () => {
    expect(refusalOf(ECHO, JSON.stringify({ message: "", ["n".repeat(500)]: 1 })).length).toBeLessThan(160);
  });

  it("echo names at most five fields in one error", () => {
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`m${index}`, 1]));
    expect(refusalOf(ECHO, JSON.stringify({ message: "", ...many })).match(/is unknown/g)).toHaveLength(5);
  });
});

describe("get_status", () => {
  const status = getStatus.make(
    {
      ...NO_DEPS,
      version: "1.2.3",
      balance: async (accountId) => (accountId === "acct_1" ? 12_345_678n : 0n),
    },
    {},
  );

  it("get_status returns the version, the status and the caller's balance", async () => {
    await expect(call(status, "{}")).resolves.toEqual({
      version: "1.2.3",
      status: "healthy",
      balance_usdc: "12.345678",
    });
  });

  it("get_status is free and needs no scope", () => {
    expect(status).toMatchObject({ status: "active", billable: false, scope: undefined });
    expect(status.prepare({}).price).toBe(0n);
  });

  it("get_status reads the balance only when it runs", () => {
    let asked = 0;
    getStatus.make({ ...NO_DEPS, balance: async () => BigInt(++asked) }, {}).prepare({});
    expect(asked).toBe(0);
  });

  it("get_status rejects parameters", () => {
    expect(refusalOf(status, '{"verbose":true}')).toBe(
      "INVALID_REQUEST params.verbose: is unknown, leave it out, there are no members",
    );
  });
});
