import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { AccountService, AdjustBalanceRequestSchema } from "#gen/toolgate/v1/account_service_pb.ts";
import { CreateKeyRequestSchema, KeyService } from "#gen/toolgate/v1/key_service_pb.ts";
import { ReceiptService } from "#gen/toolgate/v1/receipt_service_pb.ts";
import { ListRunsRequestSchema, RunService } from "#gen/toolgate/v1/run_service_pb.ts";
import { CallToolRequestSchema, ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { ToolgateError } from "../../src/domain/core/errors.ts";
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

type Complaint = [request: MessageInitShape<typeof CallToolRequestSchema>, says: string];

const COMPLAINTS: Complaint[] = [
  [{ ...call, tool: "" }, "tool: is required, a string"],
  [{ ...call, tool: "x".repeat(129) }, "tool: must be 1 to 128 characters"],
  [{ tool: "echo" }, "params: is required; send {} for tools without parameters"],
  ...["", "x".repeat(256), "tab\t", "line\n", "ключ", "é".repeat(300)].map(
    (idempotencyKey) =>
      [
        { ...call, idempotencyKey },
        "idempotency_key: must be 1 to 255 printable ASCII characters",
      ] satisfies Complaint,
  ),
  [{ ...call, paymentProof: { network: "solana-mainnet" } }, "payment_proof.tx_ref: is required, a string"],
  [
    { ...call, paymentProof: { txRef: "x", network: "y", memo: "m".repeat(567) } },
    "payment_proof.memo: must be at most 566 characters",
  ],
  [
    { tool: "", paymentProof: { txRef: "x" } },
    "tool: is required, a string; params: is required; send {} for tools without parameters; " +
      "payment_proof.network: is required, a string",
  ],
];

describe("validation", () => {
  it("names the missing fields of an empty request", () => {
    for (const service of [ToolService, ReceiptService, RunService, AccountService, KeyService]) {
      for (const { input } of service.methods) {
        const message = problem(() => validate(input, create(input)));
        expect(message).not.toMatch(/value|regex|pattern/);
      }
    }
  });

  it.each(COMPLAINTS)("names the invalid fields of %j once with their rules", (request, says) => {
    expect(problem(() => validate(CallToolRequestSchema, create(CallToolRequestSchema, request)))).toBe(says);
  });

  it("validates integers, lists and characters the database rejects", () => {
    const zero = create(AdjustBalanceRequestSchema, {
      accountId: "acct_1",
      amountUsdcMicrousd: 0n,
      reason: "x",
      idempotencyKey: "1",
    });
    expect(problem(() => validate(AdjustBalanceRequestSchema, zero))).toBe(
      "amount_usdc_microusd: must not be 0",
    );
    for (const amountUsdcMicrousd of [2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n])
      expect(problem(() => validate(AdjustBalanceRequestSchema, { ...zero, amountUsdcMicrousd }))).toBe(
        "amount_usdc_microusd: must be between -9007199254740991 and 9007199254740991",
      );
    expect(
      problem(() =>
        validate(AdjustBalanceRequestSchema, {
          ...zero,
          amountUsdcMicrousd: 1n,
          reason: "made\nup\0",
          idempotencyKey: "1",
        }),
      ),
    ).toBe("reason: must be 1 to 500 non-NUL characters");
    const twice = create(CreateKeyRequestSchema, { accountId: "acct_1", scopes: ["a", "a"] });
    expect(problem(() => validate(CreateKeyRequestSchema, twice))).toBe(
      "scopes: must not contain duplicates",
    );
    const many = create(CreateKeyRequestSchema, {
      accountId: "acct_1",
      scopes: Array.from({ length: 21 }, String),
    });
    expect(problem(() => validate(CreateKeyRequestSchema, many))).toBe("scopes: must have at most 20 items");
    const none = create(ListRunsRequestSchema, { limit: 0 });
    expect(problem(() => validate(ListRunsRequestSchema, none))).toBe("limit: must be between 1 and 100");
  });
});
