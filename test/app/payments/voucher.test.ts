import { randomBytes, randomUUID } from "node:crypto";
import { fromBinary } from "@bufbuild/protobuf";
import { z } from "zod";
import { PaymentRequiredSchema } from "#gen/toolgate/v1/payment_pb.ts";
import { afterEach, describe, expect, it } from "vitest";
import { callTool, type ToolCall } from "../../../src/app/calls/call-tool.ts";
import { type CallContext, fingerprint } from "../../../src/domain/calls/call-context.ts";
import { FinalityTracker } from "../../../src/app/jobs/finality-tracker.ts";
import { ToolgateError } from "../../../src/domain/core/errors.ts";
import { PaymentRequiredMessages } from "../../../src/transport/services/calls/payment-required-message.ts";
import { PaymentRequiredError } from "../../../src/app/calls/call-errors.ts";
import { expectCleanAudit, openLedger, silent } from "../../postgres/fixture.ts";
import { PAYMENT, startGateway } from "../../transport/gateway.ts";
import { newContext, callPorts, toolCall, newCaller } from "../context.ts";
import { withPayments } from "./payment-ports.ts";
import { issueVoucher, voucherMethod, voucherReference } from "./voucher/voucher-method.ts";
import { silentMetrics } from "../../../src/metrics/silent-metrics.ts";

const answerSchema = z.object({
  ok: z.boolean().optional(),
  message: z.string().optional(),
  details: z.array(z.object({ type: z.string(), value: z.string() })).optional(),
});
const PRICE = 10_000n;
const secret = randomBytes(32);
const revoked = new Set<string>();
const vouchers = voucherMethod({
  secret,
  now: () => Date.now(),
  revoked: (reference) => revoked.has(reference),
});

const { one } = await openLedger();
const chain = { verify: () => Promise.reject(new Error("a voucher asks no chain")) };
// The one line that registers a payment method.
const deps = withPayments(callPorts({ ledger: one.ledger, chain }), [vouchers]);
afterEach(() => expectCleanAudit(one.pool));

const newVoucher = (value = PRICE) => issueVoucher(secret, value, randomUUID().replaceAll("-", "_"));
const balanceOf = ({ caller }: CallContext) => one.balance(caller.accountId);

async function newPayer(): Promise<CallContext> {
  return newContext({ caller: newCaller({ accountId: await one.account() }) });
}

function quoteFor({ caller }: CallContext, params = {}) {
  return deps.quotes.issue(caller.accountId, PRICE, fingerprint("paid", params));
}

function callWith(code: string, quoteId: string, more: Partial<ToolCall> = {}): ToolCall {
  const paymentProof = { txRef: code, network: "voucher", quoteId };
  return toolCall("paid", { paymentProof, ...more });
}

const refusalOf = async (call: ToolCall, context: CallContext) => {
  try {
    await callTool(deps, call, context);
    return "paid";
  } catch (error) {
    if (error instanceof ToolgateError) return `${error.code}: ${error.message}`;
    throw error;
  }
};

describe("a voucher, as a payment method of one folder and one line", () => {
  it("is offered in 402 responses beside the other methods", async () => {
    const quote = quoteFor(await newPayer());
    const { paymentInstructions } = new PaymentRequiredMessages(PAYMENT, deps.payments).message(
      new PaymentRequiredError("paid", quote, "pay"),
      "req_1",
      "prefix",
    );
    expect(paymentInstructions?.paymentMethods).toEqual(["wallet", "voucher"]);
    expect(paymentInstructions?.x402HeaderFormat).toMatch(/"tx": .*, or .*"voucher": /);
    expect(await deps.payments.x402(quote)).toEqual([]);
  });

  it("pays its quote and is charged once when the call is repeated", async () => {
    const payer = await newPayer();
    const call = callWith(newVoucher(PRICE + 1n), quoteFor(payer).quoteId);
    const first = await callTool(deps, call, payer);
    expect(first.receipt).toMatchObject({ quoted: PRICE, debited: PRICE, status: "final" });
    expect(await callTool(deps, call, payer)).toEqual(first);
    const xPayment = Buffer.from(
      JSON.stringify({ voucher: call.paymentProof?.txRef, quote_id: call.paymentProof?.quoteId }),
    ).toString("base64url");
    expect(await callTool(deps, { ...call, paymentProof: undefined, xPayment }, payer)).toEqual(first);
    expect(await callTool(deps, { ...call, xPayment }, payer)).toEqual(first);
    expect(await balanceOf(payer)).toBe(1n);
  });

  it("is refused for a second call, for another account, and beside another voucher", async () => {
    const [payer, other] = [await newPayer(), await newPayer()];
    const code = newVoucher();
    await callTool(deps, callWith(code, quoteFor(payer).quoteId), payer);
    for (const context of [payer, payer, other]) {
      const { quoteId } = quoteFor(context, { again: true });
      const again = callWith(code, quoteId, { params: { again: true } });
      expect(await refusalOf(again, context)).toMatch(/^INVALID_PAYMENT: .*was used for another call/);
      expect(await balanceOf(context)).toBe(0n);
    }
    const { quoteId } = quoteFor(other);
    const xPayment = Buffer.from(JSON.stringify({ voucher: newVoucher(), quote_id: quoteId })).toString(
      "base64url",
    );
    expect(await refusalOf(callWith(newVoucher(), quoteId, { xPayment }), other)).toMatch(
      /X-Payment and payment_proof name different payments/,
    );
  });

  it("is refused when it is forged, and for a quote of another call or account", async () => {
    const [payer, other] = [await newPayer(), await newPayer()];
    const { quoteId } = quoteFor(payer);
    const forged = issueVoucher(randomBytes(32), PRICE, "1");
    expect(await refusalOf(callWith(forged, quoteId), payer)).toMatch(/has not signed this voucher/);
    const code = newVoucher();
    expect(await refusalOf(callWith(code, quoteId), other)).toMatch(/issued to another account/);
    expect(await refusalOf(callWith(code, quoteId, { params: { n: 1 } }), payer)).toMatch(/other params/);
    expect(await refusalOf(callWith(code, quoteId), payer)).toBe("paid");
  });

  it("is credited when it is worth less than the price", async () => {
    const payer = await newPayer();
    const call = callWith(newVoucher(9_999n), quoteFor(payer).quoteId);
    expect(await refusalOf(call, payer)).toMatch(/worth \$0\.009999.*was credited to your balance/);
    expect(await balanceOf(payer)).toBe(9_999n);
  });

  it("is reversed when its issuer revokes it, and refused from then on", async () => {
    const payer = await newPayer();
    const code = newVoucher(25_000n);
    const call = callWith(code, quoteFor(payer).quoteId);
    const { result } = await callTool(deps, call, payer);
    expect(await balanceOf(payer)).toBe(15_000n);
    revoked.add(voucherReference(code));
    await track();
    await track();
    expect(await balanceOf(payer)).toBe(-10_000n);
    // A delivered result stays delivered; its receipt shows the reversal.
    expect(await callTool(deps, call, payer)).toMatchObject({ result, receipt: { status: "reversed" } });
    const { quoteId } = quoteFor(payer, { again: true });
    const again = callWith(code, quoteId, { params: { again: true } });
    expect(await refusalOf(again, payer)).toMatch(/^INVALID_PAYMENT: .*its credit was reversed/);
  });
});

describe("a voucher over HTTP", () => {
  it("comes in payment_proof with its network, under the unchanged contract", async () => {
    const gateway = await startGateway({}, [vouchers]);
    try {
      const { authorization } = gateway.key();
      const call = async (paymentProof?: object) => {
        const response = await fetch(`${gateway.baseUrl}/toolgate.v1.ToolService/CallTool`, {
          method: "POST",
          headers: { authorization, "content-type": "application/json" },
          body: JSON.stringify({ tool: "paid", params: {}, paymentProof }),
        });
        return { status: response.status, body: answerSchema.parse(await response.json()) };
      };
      const { details = [] } = (await call()).body;
      const found = details.find(({ type }) => type === PaymentRequiredSchema.typeName);
      const { quote } = fromBinary(PaymentRequiredSchema, Buffer.from(found?.value ?? "", "base64"));
      const proof = { txRef: newVoucher(), network: "voucher", quoteId: quote?.quoteId };
      expect(await call(proof)).toMatchObject({ status: 200, body: { ok: true } });
      const unknown = await call({ ...proof, network: "solana-devnet" });
      expect(unknown.body.message).toBe("payment_proof.network: must be solana-mainnet or voucher");
    } finally {
      await gateway.close();
    }
  });
});

/** Runs the finality tracker once, as the background worker does. */
async function track(): Promise<void> {
  await one.pool.query("update payment set created_at = now() - interval '1 minute'");
  const { networks } = deps.payments;
  const tracker = new FinalityTracker({
    networks,
    ledger: one.treasury,
    metrics: silentMetrics,
    log: silent,
  });
  await tracker.run(new AbortController().signal);
}
