import { randomBytes, randomUUID } from "node:crypto";
import { status } from "@grpc/grpc-js";
import { base58 } from "@scure/base";
import { beforeAll, describe, expect, it } from "vitest";
import { ErrorBodySchema } from "#gen/toolgate/v1/error_pb.ts";
import { SuspenseStatus, TreasuryService } from "#gen/toolgate/v1/treasury_service_pb.ts";
import { useWorld } from "../../../support/use-world.ts";
import type { Agent } from "../../../support/world.ts";
import { detailOf, failureOf } from "../../grpc-client.ts";
import { gift, WATCHFUL } from "../gift.ts";
import { useOperator } from "../operator.ts";

const { listSuspense, assignSuspense, refundReceipt, getTreasury } = TreasuryService.method;

const world = useWorld(WATCHFUL);
const operator = useOperator(world);
const { call } = operator;
let payer: Agent;
beforeAll(async () => {
  payer = await world.agent();
});

async function refusalOf(answer: Promise<unknown>) {
  const error = await failureOf(answer);
  const { code, message } = detailOf(error, ErrorBodySchema);
  return `${status[error.code]} ${code} ${message}`;
}

const buy = (agent: Agent) => world.call(agent, "vram_estimate", { model: "llama-3.1-8b" });

describe("a transfer that names no quote", () => {
  it("assigns a listed transfer to an account once, which can spend it", async () => {
    const tx = await gift(world, payer, 1_500n, "for lunch");
    const open = await call(listSuspense, { status: SuspenseStatus.OPEN });
    const [transfer] = open.items;
    expect(transfer).toMatchObject({
      txSignature: tx,
      amountUsdcMicrousd: 1_500n,
      memos: expect.stringContaining("for lunch"),
      payer: payer.wallet.publicKey.toBase58(),
      status: SuspenseStatus.OPEN,
      owner: { case: undefined },
    });
    expect(transfer?.reason).toBeUndefined();

    expect((await buy(payer)).status).toBe(402);
    const assignment = {
      txSignature: tx,
      owner: { case: "accountId", value: payer.accountId },
      reason: "he wrote to us",
    } as const;
    const assigned = await call(assignSuspense, assignment);
    expect(assigned.transfer).toEqual({
      ...transfer,
      status: SuspenseStatus.ASSIGNED,
      owner: { case: "accountId", value: payer.accountId },
      reason: "he wrote to us",
    });
    expect(await call(assignSuspense, assignment)).toEqual(assigned);
    const others = [
      { case: "accountId", value: operator.agent.accountId } as const,
      { case: "operator", value: true } as const,
    ];
    for (const owner of others) {
      expect(await refusalOf(call(assignSuspense, { ...assignment, owner }))).toMatch(
        /^INVALID_ARGUMENT INVALID_REQUEST tx_signature: /,
      );
    }
    expect((await buy(payer)).body.receipt.debited_usdc_microusd).toBe(1_000);
    expect((await buy(payer)).status).toBe(402);
    expect((await call(listSuspense, { status: SuspenseStatus.OPEN })).items).toEqual([]);
    expect((await call(listSuspense, { status: SuspenseStatus.ASSIGNED })).items).toEqual([
      assigned.transfer,
    ]);
  });

  it("assigns a transfer to the operator and stops counting it", async () => {
    const before = await call(getTreasury, {});
    const tx = await gift(world, payer, 700n, "working capital");
    const during = await call(getTreasury, {});
    expect(during).toMatchObject({
      tokenAccount: world.gateway.payTo,
      suspenseCount: before.suspenseCount + 1n,
      suspenseUsdcMicrousd: before.suspenseUsdcMicrousd + 700n,
    });
    expect(during.watch?.expectedUsdcMicrousd).toBe((before.watch?.expectedUsdcMicrousd ?? 0n) + 700n);
    expect(during.watch?.lookedAt).toBeDefined();
    const owner = { case: "operator", value: true } as const;
    const { transfer } = await call(assignSuspense, { txSignature: tx, owner, reason: "mine" });
    expect(transfer).toMatchObject({ status: SuspenseStatus.ASSIGNED, owner });
    expect(await call(getTreasury, {})).toMatchObject({ suspenseCount: before.suspenseCount });
  });
});

describe("the operator's treasury work", () => {
  it("reports unknown ids and invalid fields", async () => {
    const txSignature = await gift(world, payer, 5n, "nobody's");
    const unknown = base58.encode(randomBytes(64));
    const owner = { case: "operator", value: true } as const;
    const unknownAccount = { case: "accountId", value: `acct_${randomUUID().replaceAll("-", "")}` } as const;
    const assign = (change: object) => () =>
      call(assignSuspense, { txSignature, owner, reason: "r", ...change });
    const list = (request: object) => () => call(listSuspense, request);
    const cases: [() => Promise<unknown>, RegExp][] = [
      [assign({ txSignature: unknown }), /^NOT_FOUND NOT_FOUND .*transfer/],
      [assign({ txSignature: "me" }), /^NOT_FOUND NOT_FOUND .*transfer/],
      [assign({ owner: unknownAccount }), /^NOT_FOUND NOT_FOUND .*account/],
      [assign({ owner: { case: "operator", value: false } }), /INVALID_REQUEST operator: /],
      [
        () => call(assignSuspense, {}),
        /INVALID_REQUEST tx_signature: is required.*reason: is required.*owner: send one of account_id, operator/,
      ],
      [
        () => call(refundReceipt, { receiptId: `rcpt_${"0".repeat(32)}`, reason: "r" }),
        /^NOT_FOUND NOT_FOUND .*receipt/,
      ],
      [() => call(refundReceipt, {}), /INVALID_REQUEST receipt_id: is required.*reason: /],
      [list({ limit: 101 }), /INVALID_REQUEST limit: must be between 1 and 100/],
      [list({ cursor: "elsewhere" }), /INVALID_REQUEST cursor: /],
      [list({ status: 99 }), /INVALID_REQUEST status: must be one of open, assigned/],
    ];
    for (const [answer, says] of cases) expect(await refusalOf(answer())).toMatch(says);
  });
});
