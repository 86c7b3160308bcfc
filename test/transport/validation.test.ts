import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { AdjustBalanceRequestSchema } from "#gen/toolgate/v1/account_service_pb.ts";
import { CreateKeyRequestSchema } from "#gen/toolgate/v1/key_service_pb.ts";
import { CallToolRequestSchema } from "#gen/toolgate/v1/tool_service_pb.ts";
import { ToolgateError } from "../../src/domain/errors.ts";
import { validate } from "../../src/transport/validation.ts";

function problem(check: () => void): string {
  try {
    check();
  } catch (error) {
    if (error instanceof ToolgateError && error.code === "INVALID_REQUEST" && error.status === 400)
      return error.message;
    throw error;
  }
  return "";
}

const call = { tool: "echo", params: {} };

describe("validation", () => {
  it("lets a good request pass", () => {
    const paymentProof = { txRef: "x", network: "solana-mainnet", memo: "svc:qt_1" };
    expect(problem(() => validate(CallToolRequestSchema, create(CallToolRequestSchema, call)))).toBe("");
    const full = create(CallToolRequestSchema, { ...call, idempotencyKey: "a key ~ 1", paymentProof });
    expect(problem(() => validate(CallToolRequestSchema, full))).toBe("");
  });

  it.each([
    [{ ...call, tool: "" }, /^tool: /],
    [{ ...call, tool: "x".repeat(129) }, /^tool: /],
    [{ tool: "echo" }, /^params: /],
    [{ ...call, idempotencyKey: "" }, /^idempotency_key: /],
    [{ ...call, idempotencyKey: "x".repeat(256) }, /^idempotency_key: /],
    [{ ...call, idempotencyKey: "tab\t" }, /^idempotency_key: /],
    [{ ...call, idempotencyKey: "line\n" }, /^idempotency_key: /],
    [{ ...call, idempotencyKey: "ключ" }, /^idempotency_key: /],
    [{ ...call, paymentProof: { network: "solana-mainnet" } }, /^payment_proof\.tx_ref: /],
    [{ tool: "", paymentProof: { txRef: "x" } }, /^tool: .*; params: .*; payment_proof\.network: /],
  ])("names the fields of %j by their paths", (request, says) => {
    expect(problem(() => validate(CallToolRequestSchema, create(CallToolRequestSchema, request)))).toMatch(says);
  });

  it("knows integers and lists", () => {
    const zero = create(AdjustBalanceRequestSchema, {
      accountId: "acct_1",
      amountUsdcMicrousd: 0n,
      reason: "x",
      idempotencyKey: "1",
    });
    expect(problem(() => validate(AdjustBalanceRequestSchema, zero))).toMatch(/^amount_usdc_microusd: /);
    const twice = create(CreateKeyRequestSchema, { accountId: "acct_1", scopes: ["a", "a"] });
    expect(problem(() => validate(CreateKeyRequestSchema, twice))).toMatch(/^scopes: /);
  });
});
