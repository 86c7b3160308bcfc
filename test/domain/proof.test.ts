import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ToolgateError } from "../../src/domain/errors.ts";
import { parseProof } from "../../src/domain/proof.ts";
import { parseXPayment } from "../../src/domain/x-payment.ts";

const tx = base58.encode(randomBytes(64));
const quoteId = `qt_${"3".repeat(110)}`;
const stepId = `step_${"a".repeat(32)}`;
const header = (value: unknown, alphabet: "base64" | "base64url" = "base64url") =>
  Buffer.from(JSON.stringify(value)).toString(alphabet);
const refusal = (run: () => unknown) => {
  try {
    run();
  } catch (error) {
    if (error instanceof ToolgateError) return `${error.code} ${error.status} ${error.message}`;
    throw error;
  }
  return "accepted";
};

describe("the X-Payment header", () => {
  it("is read in base64 and base64url, with and without padding, with either key", () => {
    for (const members of [
      { tx, quote_id: quoteId },
      { tx_signature: tx, quote_id: quoteId },
      { tx, tx_signature: tx, quote_id: quoteId },
    ]) {
      for (const alphabet of ["base64", "base64url"] as const) {
        const value = header(members, alphabet);
        const bare = value.replace(/=+$/, "");
        const padded = bare.padEnd(Math.ceil(bare.length / 4) * 4, "=");
        for (const form of [value, bare, padded]) expect(parseXPayment(form)).toEqual({ txRef: tx, quoteId });
      }
    }
  });

  const bad: [string, string, RegExp][] = [
    ["empty", "", /not base64/],
    ["no base64", "hello world", /not base64/],
    ["both alphabets at once", `${header({ tx, quote_id: quoteId })}-+`, /not base64/],
    ["plain JSON", JSON.stringify({ tx, quote_id: quoteId }), /not base64/],
    [
      "two values joined by a comma",
      `${header({ tx, quote_id: quoteId })}, ${header({ tx, quote_id: quoteId })}`,
      /not base64/,
    ],
    ["stray bits at the end", `${Buffer.from("{}").toString("base64").slice(0, -2)}B`, /canonical|JSON/],
    ["wrong padding", "YWJj=", /padding|canonical/],
    ["a JSON array", header([tx, quoteId]), /JSON object/],
    ["JSON null", header(null), /JSON object/],
    ["bytes that are not UTF-8", Buffer.from([0x7b, 0xff, 0x7d]).toString("base64"), /JSON object/],
    ["no transaction", header({ quote_id: quoteId }), /tx is missing/],
    ["no quote", header({ tx }), /quote_id is missing/],
    ["two transactions", header({ tx, tx_signature: base58.encode(randomBytes(64)), quote_id: quoteId }), /differ/],
    ["a number as transaction", header({ tx: 1, quote_id: quoteId }), /tx must be/],
    ["an unknown member", header({ tx, quote_id: quoteId, amount: 1 }), /unknown member "amount"/],
    ["an x402 payload", header({ x402Version: 1, scheme: "exact", payload: {} }), /x402/],
    ["both families", header({ x402Version: 1, tx, quote_id: quoteId }), /x402/],
    [
      "a prototype",
      Buffer.from(`{"__proto__":{"tx":"${tx}","quote_id":"${quoteId}"}}`).toString("base64"),
      /unknown member/,
    ],
    ["more than 8 KiB", header({ tx, quote_id: "q".repeat(9000) }), /longer/],
  ];
  it.each(bad)("refuses %s with INVALID_PAYMENT 400", (_, value, message) => {
    expect(refusal(() => parseXPayment(value))).toMatch(/^INVALID_PAYMENT 400 X-Payment: /);
    expect(refusal(() => parseXPayment(value))).toMatch(message);
  });

  it("never fails in any other way", () => {
    const any = fc.oneof(
      fc.string(),
      fc.base64String(),
      fc.json().map((text) => Buffer.from(text).toString("base64")),
    );
    fc.assert(fc.property(any, (value) => /^(accepted|INVALID_PAYMENT 400)/.test(refusal(() => parseXPayment(value)))));
  });
});

describe("the proof of a call", () => {
  const body = { txRef: tx, network: "solana-mainnet", quoteId };
  const memo = `${stepId}:${quoteId}:n1`;

  it("comes from the header or the body, or from both when they say the same", () => {
    const value = header({ tx, quote_id: quoteId });
    expect(parseProof(undefined, undefined, "svc")).toBeUndefined();
    expect(parseProof(value, undefined, "svc")).toMatchObject({ txSignature: tx, quoteId });
    expect(parseProof(undefined, body, "svc")).toMatchObject({ txSignature: tx, quoteId });
    expect(parseProof(value, { ...body, amountUsdc: "0.01" }, "svc")?.claimed.amount).toBe(10_000n);
  });

  it("takes the quote from either memo form when the body does not name it", () => {
    for (const form of [memo, `svc:${quoteId}`]) {
      expect(parseProof(undefined, { txRef: tx, network: "solana-mainnet", memo: form }, "svc")).toMatchObject({
        quoteId,
        claimed: { memo: form },
      });
    }
  });

  const bad: [string, Parameters<typeof parseProof>, RegExp][] = [
    ["another network", [undefined, { ...body, network: "solana-devnet" }, "svc"], /network/],
    ["a signature of 63 bytes", [undefined, { ...body, txRef: base58.encode(randomBytes(63)) }, "svc"], /tx_ref/],
    ["a signature that is no base58", [undefined, { ...body, txRef: "0".repeat(88) }, "svc"], /tx_ref/],
    ["a header's bad signature", [header({ tx: "abc", quote_id: quoteId }), undefined, "svc"], /X-Payment: tx/],
    ["no quote anywhere", [undefined, { txRef: tx, network: "solana-mainnet" }, "svc"], /quote_id/],
    ["a memo of another prefix", [undefined, { ...body, memo: `abc:${quoteId}` }, "svc"], /memo/],
    ["a memo with a fourth part", [undefined, { ...body, memo: `${memo}:x` }, "svc"], /memo/],
    ["a memo of another quote", [undefined, { ...body, memo: `svc:qt_${"4".repeat(110)}` }, "svc"], /another quote/],
    ["a memo of another step", [undefined, { ...body, memo, stepId: `step_${"b".repeat(32)}` }, "svc"], /another step/],
    ["an amount with seven places", [undefined, { ...body, amountUsdc: "0.0000001" }, "svc"], /amount_usdc/],
    [
      "different payments in header and body",
      [header({ tx, quote_id: `qt_${"4".repeat(110)}` }), body, "svc"],
      /different payments/,
    ],
  ];
  it.each(bad)("refuses %s", (_, [xPayment, paymentProof, prefix], message) => {
    const answer = refusal(() => parseProof(xPayment, paymentProof, prefix));
    expect(answer).toMatch(/^INVALID_PAYMENT 400/);
    expect(answer).toMatch(message);
  });
});
