import { base58 } from "@scure/base";
import { beforeEach, describe, expect, it } from "vitest";
import { callTool, type ToolCall } from "../../../../src/app/calls/call-tool.ts";
import type { CallPorts } from "../../../../src/gateway/call-tool-deps.ts";
import { Catalogue } from "../../../../src/app/calls/catalogue.ts";
import { type CallContext, fingerprint } from "../../../../src/domain/calls/call-context.ts";
import type { PaymentVerdict } from "../../../../src/app/payments/payment-methods.ts";
import type { Relay, RelayRequest } from "../../../../src/app/payments/gasless/relay-port.ts";
import type { RelayClaim } from "../../../../src/app/payments/gasless/relay-claims.ts";
import { ToolgateError } from "../../../../src/domain/core/errors.ts";
import { stepIdOf, Quotes } from "../../../../src/domain/payments/quote.ts";
import { X402_NETWORK, x402Terms } from "../../../../src/domain/payments/x402.ts";
import { settlementOfFailure } from "../../../../src/transport/x402/settlement.ts";
import { systemRandom } from "../../../../src/system.ts";
import { MemoryLedger } from "../../../transport/memory-ledger.ts";
import { newContext, callPorts, toolCall, newSealingKeys } from "../../context.ts";
import { withPayments } from "../payment-ports.ts";

/** A paid call whose transaction the gateway sends, tested from the call's side. */

const PRICE = 10_000n;
const TREASURY = { owner: "owner", mint: "mint" };
const FEE_PAYER = "feePayer";

let ledger: MemoryLedger;
let verdict: PaymentVerdict["kind"];
let blockTime: Date;
let sent: RelayRequest[];
let claimedAt: number;
let context: CallContext;
let deps: CallPorts;

/** Reads "transactions" that consist of their memo. */
const relay: Relay = {
  feePayer: FEE_PAYER,
  async identify(bytes) {
    const memo = Buffer.from(bytes).toString();
    const txSignature = base58.encode(Buffer.alloc(64, memo || "?"));
    return { bytes, messageHash: Buffer.from(bytes), txSignature, memo, payer: "payer", blockhash: "" };
  },
  async relay(order) {
    sent.push(order);
    return { claimedAt };
  },
  recentBlockhash: async () => undefined,
  build: () => Promise.reject(new Error("is not asked for")),
};

beforeEach(() => {
  ledger = new MemoryLedger();
  verdict = "paid";
  blockTime = new Date();
  sent = [];
  claimedAt = Date.now();
  context = newContext();
  deps = callPorts({
    ledger,
    chain: {
      verify: async () => {
        if (verdict !== "paid")
          return verdict === "refused" ? { kind: verdict, reason: "it failed" } : { kind: verdict };
        const memo = sent.at(-1)?.transaction.memo ?? "";
        return { kind: "paid", amount: PRICE, memo, payer: undefined, slot: 1n, blockTime, finalized: true };
      },
    },
    relay,
    treasury: TREASURY,
  });
});

const quoteFor = (tool = "paid", accountId = context.caller.accountId, quotes = deps.quotes) =>
  quotes.issue(accountId, PRICE, fingerprint(tool, {}));
const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64");
const transactionWith = (memo: string) => Buffer.from(memo).toString("base64");

/** A call with our own form of a gasless proof. */
const own = (memo: string, quoteId: string) =>
  call({ xPayment: encoded({ transaction: transactionWith(memo), quote_id: quoteId }) });
/** A call with an x402 payload that takes the offer of the quote, or another. */
const x402 = (
  quote: { quoteId: string; price: bigint },
  change: object = {},
  more: Partial<ToolCall> = {},
  members: object = {},
) => {
  const { feePayer, memo, ...terms } = x402Terms(TREASURY, FEE_PAYER, "svc", quote);
  const accepted = { ...terms, extra: { feePayer, memo }, ...change };
  const payload = { x402Version: 2, payload: { transaction: transactionWith(memo) }, accepted, ...members };
  return call({ paymentSignature: encoded(payload), ...more });
};
const call = (more: Partial<ToolCall>): ToolCall => toolCall("paid", more);

/** The stored claim of a sent payment. */
const claimFor = (quoteId: string, state: RelayClaim["state"] = "broadcast"): RelayClaim => ({
  messageHash: Buffer.alloc(32),
  quoteId,
  txSignature: base58.encode(Buffer.alloc(64, quoteId)),
  signedTransaction: Buffer.alloc(0),
  state,
  reason: state === "failed" ? "never_landed" : undefined,
  lastValidBlockHeight: 1n,
  claimedAt,
});

const calling = async (asked: ToolCall) => callTool(withPayments(deps), asked, context);

const outcomeOf = (asked: ToolCall) =>
  calling(asked).then(
    ({ receipt }) => `paid by ${receipt?.paidBy}`,
    (error: unknown) => {
      if (!(error instanceof ToolgateError)) throw error;
      return `${error.code} ${error.status}: ${error.message}`;
    },
  );

describe("a payment to be relayed", () => {
  it("accepts a quote in the short memo form, repeated by quote_id", async () => {
    const { quoteId } = quoteFor();
    for (const memo of ["hello", `abc:${quoteId}`, `${stepIdOf(quoteId)}:${quoteId}:n1`])
      expect(await outcomeOf(own(memo, quoteId))).toMatch(
        /^INVALID_PAYMENT 400: X-Payment: .* one memo, svc:<quote_id>/,
      );
    const other = quoteFor().quoteId;
    expect(await outcomeOf(own(`svc:${other}`, quoteId))).toMatch(
      /^INVALID_PAYMENT 400: X-Payment: quote_id is not/,
    );
    expect(sent).toEqual([]);
  });

  it("accepts an offer claimed before the fee payer changed", async () => {
    const quote = quoteFor();
    const { memo } = x402Terms(TREASURY, FEE_PAYER, "svc", quote);
    const taken = claimFor(quote.quoteId);
    deps = { ...deps, claims: { find: async () => taken } };
    expect(await outcomeOf(x402(quote, { extra: { feePayer: "former", memo } }))).toBe("paid by gasless");
  });

  it("accepts a payment claimed in time, however late the chain and the repeated call are", async () => {
    const earlier = Date.now() - 3_600_000;
    const past = new Quotes(newSealingKeys(), { now: () => earlier }, systemRandom, 300);
    deps = { ...deps, quotes: past };
    claimedAt = earlier + 299_000;
    blockTime = new Date(earlier + 390_000);
    expect(await outcomeOf(x402(quoteFor()))).toBe("paid by gasless");
    claimedAt = earlier + 301_000;
    expect(await outcomeOf(x402(quoteFor()))).toMatch(/^QUOTE_EXPIRED 402: .*was credited to your balance/);
  });

  it("returns PAYMENT_PENDING while the chain cannot be queried for the amount", async () => {
    const outage = new ToolgateError("UNAVAILABLE", "nothing was consumed");
    deps = { ...deps, chain: { verify: () => Promise.reject(outage) } };
    expect(await outcomeOf(x402(quoteFor()))).toMatch(/^PAYMENT_PENDING 503: .*do not pay again/);
    expect(sent).toHaveLength(1);
  });

  it("does not relay a payment for a call that was charged otherwise", async () => {
    const idempotencyKey = "k";
    const first = await calling(x402(quoteFor(), {}, { idempotencyKey }));
    ledger.findPrior = async () => ({ kind: "replay", ...first });
    expect(await calling(x402(quoteFor(), {}, { idempotencyKey }))).toEqual(first);
    expect(sent).toHaveLength(1);
    expect(await ledger.balance(context.caller.accountId)).toBe(0n);
  });

  it("keeps the payment on the balance when the tool fails, and names it in the error", async () => {
    const [paid] = deps.catalogue.tools.filter(({ name }) => name === "paid");
    if (!paid) throw new Error("there is no paid tool");
    const prepare = () => ({ price: PRICE, run: () => Promise.reject(new Error("it broke")) });
    deps = { ...deps, catalogue: new Catalogue([{ ...paid, prepare }]) };
    const quote = quoteFor();
    const asked = x402(quote);
    const failure: unknown = await calling(asked).catch((error: unknown) => error);
    const txSignature = base58.encode(Buffer.alloc(64, `svc:${quote.quoteId}`));
    expect(failure).toMatchObject({ code: "TOOL_FAILED", txSignature });
    expect(await ledger.balance(context.caller.accountId)).toBe(PRICE);
    expect(settlementOfFailure(asked, failure)?.meta["x402/payment-response"]).toEqual({
      success: true,
      transaction: txSignature,
      network: X402_NETWORK,
    });
  });

  it("returns the known outcome of a claimed payment while the relay is off", async () => {
    const { quoteId } = quoteFor();
    const transaction = Buffer.concat([Buffer.of(2), Buffer.alloc(128), Buffer.from("message")]).toString(
      "base64",
    );
    const ask = (named = quoteId) => outcomeOf(call({ xPayment: encoded({ transaction, quote_id: named }) }));
    let claim = claimFor(quoteId);
    deps = { ...deps, relay: undefined, claims: { find: async () => claim } };
    verdict = "not_found";
    expect(await ask()).toMatch(/^PAYMENT_PENDING 503: .*do not pay again/);
    expect(await ask(quoteFor().quoteId)).toMatch(/^INVALID_PAYMENT 400: X-Payment: quote_id is not/);
    claim = claimFor(quoteId, "failed");
    expect(await ask()).toMatch(/^INVALID_PAYMENT 402: .*never_landed/);
  });

  it("returns the relay's error unchanged and credits nothing", async () => {
    for (const code of [
      "INVALID_PAYMENT",
      "QUOTE_EXPIRED",
      "RATE_LIMITED",
      "PAYMENT_PENDING",
      "UNAVAILABLE",
    ] as const) {
      deps = {
        ...deps,
        relay: { ...relay, relay: () => Promise.reject(new ToolgateError(code, "so it is")) },
      };
      expect(await outcomeOf(x402(quoteFor()))).toMatch(new RegExp(`^${code} \\d+: so it is$`));
    }
    expect(await ledger.balance(context.caller.accountId)).toBe(0n);
  });
});
