import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ToolgateError } from "../../../src/domain/core/errors.ts";
import { gaslessProofs, transferProofs } from "../../../src/domain/payments/body-proof.ts";
import {
  parseProof as parseProofOf,
  type BodyProof,
  type ProofCarriers,
} from "../../../src/domain/payments/proof.ts";
import { X402_NETWORK } from "../../../src/domain/payments/x402.ts";

const tx = base58.encode(randomBytes(64));
const quoteId = `qt_${"3".repeat(110)}`;
const otherQuote = `qt_${"4".repeat(110)}`;
const [stepId, otherStep] = [`step_${"a".repeat(32)}`, `step_${"b".repeat(32)}`];
const transaction = randomBytes(500).toString("base64");
const v1 = { x402Version: 1, scheme: "exact", network: "solana", payload: { transaction } };
const header = (value: unknown, alphabet: "base64" | "base64url" = "base64url") =>
  Buffer.from(JSON.stringify(value)).toString(alphabet);
const parseProof = (carriers: ProofCarriers) =>
  parseProofOf(carriers, [transferProofs("svc"), gaslessProofs]);
const parseHeader = (xPayment: string) => parseProof({ xPayment, paymentProof: undefined });
const genuine = header({ tx, quote_id: quoteId });
const otherTx = base58.encode(randomBytes(64));
/** One byte above a packet. */
const largeTransaction = Buffer.alloc(1233).toString("base64");
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
  it.each(["tx", "tx_signature"])("is parsed as base64 and base64url, with the key %s", (key) => {
    // JSON of letters and digits is the same in both; absent members are ignored.
    const members = { [key]: tx, quote_id: quoteId, "~?>~?>~?>": null };
    const forms = (["base64", "base64url"] as const).map((alphabet) => header(members, alphabet));
    expect(forms).toEqual([expect.stringMatching(/[+/]/), expect.stringMatching(/[-_]/)]);
    for (const form of forms)
      expect(parseHeader(form)).toMatchObject({ method: "transfer", txSignature: tx, quoteId });
  });

  it("is recognised as a transaction to relay or as an x402 payload of version 1", () => {
    const bytes = Buffer.from(transaction, "base64");
    expect(parseHeader(header({ transaction, quote_id: quoteId }))).toMatchObject({
      method: "gasless",
      transaction: bytes,
      quoteId,
    });
    for (const network of ["solana", X402_NETWORK]) {
      expect(parseHeader(header({ ...v1, network }))).toEqual({
        method: "gasless",
        carrier: "X-Payment",
        transaction: bytes,
        quoteId: undefined,
        accepted: undefined,
        paymentId: undefined,
      });
    }
  });

  const bad: [string, string, RegExp][] = [
    ["empty", "", /not base64/],
    ["no base64", "hello world", /not base64/],
    ["both alphabets at once", `${header({ tx, quote_id: quoteId })}-+`, /not base64/],
    ["plain JSON", JSON.stringify({ tx, quote_id: quoteId }), /not base64/],
    ["two values with a comma", `${genuine}, ${genuine}`, /not base64/],
    ["stray bits at the end", `${Buffer.from("{}").toString("base64").slice(0, -2)}B`, /canonical|JSON/],
    ["wrong padding", "YWJj=", /padding|canonical/],
    ["a JSON array", header([tx, quoteId]), /JSON object/],
    ["JSON null", header(null), /JSON object/],
    ["bytes that are not UTF-8", Buffer.from([0x7b, 0xff, 0x7d]).toString("base64"), /JSON object/],
    ["no transaction", header({ quote_id: quoteId }), /tx is missing/],
    ["no quote", header({ tx }), /quote_id is missing/],
    ["two transactions", header({ tx, tx_signature: otherTx, quote_id: quoteId }), /differ/],
    ["a number as transaction", header({ tx: 1, quote_id: quoteId }), /tx must be/],
    ["an unknown member", header({ tx, quote_id: quoteId, amount: 1 }), /unknown member "amount"/],
    ["both families", header({ x402Version: 1, tx, quote_id: quoteId }), /two kinds of proof/],
    ["x402 of version 2", header({ x402Version: 2, payload: { transaction } }), /PAYMENT-SIGNATURE/],
    ["x402 of version 3", header({ x402Version: 3, payload: { transaction } }), /x402Version must be 1/],
    ["x402 of another scheme", header({ ...v1, scheme: "upto" }), /scheme must be exact/],
    ["x402 of another network", header({ ...v1, network: "solana-devnet" }), /network must be solana or sol/],
    ["x402 without a payload", header({ ...v1, payload: undefined }), /payload is missing/],
    ["x402 without a transaction", header({ ...v1, payload: {} }), /payload\.transaction is missing/],
    ["a transaction and its signature", header({ transaction, tx, quote_id: quoteId }), /send one of them/],
    ["a transaction without its quote", header({ transaction }), /quote_id is missing/],
    ["a base64url transaction", header({ transaction: "_-8", quote_id: quoteId }), /transaction: not base64/],
    ["no canonical transaction", header({ transaction: "QUF=", quote_id: quoteId }), /not canonical/],
    ["more than one packet", header({ transaction: largeTransaction, quote_id: quoteId }), /has 1233 bytes/],
    ["a prototype", Buffer.from(`{"__proto__":{"tx":"${tx}"}}`).toString("base64"), /unknown member/],
    ["more than 8 KiB", header({ tx, quote_id: "q".repeat(9000) }), /longer/],
  ];
  it.each(bad)("refuses %s with INVALID_PAYMENT 400", (_, value, message) => {
    expect(refusal(() => parseHeader(value))).toMatch(/^INVALID_PAYMENT 400 X-Payment: /);
    expect(refusal(() => parseHeader(value))).toMatch(message);
  });

  it("never fails with any other error", () => {
    const any = fc.oneof(
      fc.string(),
      fc.base64String(),
      fc.json().map((text) => Buffer.from(text).toString("base64")),
    );
    fc.assert(
      fc.property(any, (value) => /^(accepted|INVALID_PAYMENT 400)/.test(refusal(() => parseHeader(value)))),
    );
  });
});

describe("the proof of a call", () => {
  const body = { txRef: tx, network: "solana-mainnet", quoteId };
  const memo = `${stepId}:${quoteId}:n1`;

  const bad: [string, [string | undefined, BodyProof | undefined], RegExp][] = [
    ["another network", [undefined, { ...body, network: "solana-devnet" }], /network/],
    ["a signature of 63 bytes", [undefined, { ...body, txRef: base58.encode(randomBytes(63)) }], /tx_ref/],
    ["a signature that is no base58", [undefined, { ...body, txRef: "0".repeat(88) }], /tx_ref/],
    ["a header's bad signature", [header({ tx: "abc", quote_id: quoteId }), undefined], /X-Payment: tx/],
    ["no quote anywhere", [undefined, { txRef: tx, network: "solana-mainnet" }], /quote_id/],
    ["a memo of another prefix", [undefined, { ...body, memo: `abc:${quoteId}` }], /memo/],
    ["a memo with a fourth part", [undefined, { ...body, memo: `${memo}:x` }], /memo/],
    ["a memo of another quote", [undefined, { ...body, memo: `svc:${otherQuote}` }], /another quote/],
    ["a memo of another step", [undefined, { ...body, memo, stepId: otherStep }], /another step/],
    ["an amount with seven places", [undefined, { ...body, amountUsdc: "0.0000001" }], /amount_usdc/],
    ["different payments", [header({ tx, quote_id: otherQuote }), body], /different payments/],
  ];
  it.each(bad)("refuses %s", (_, [xPayment, paymentProof], message) => {
    const answer = refusal(() => parseProof({ xPayment, paymentProof }));
    expect(answer).toMatch(/^INVALID_PAYMENT 400/);
    expect(answer).toMatch(message);
  });
});

describe("an x402 payload of version 2", () => {
  const accepted = {
    scheme: "exact",
    network: X402_NETWORK,
    amount: "10000",
    asset: "mint",
    payTo: "owner",
    maxTimeoutSeconds: 60,
    extra: { feePayer: "payer", memo: `svc:${quoteId}` },
  };
  const payload = { x402Version: 2, payload: { transaction }, resource: { url: "http://x/mcp" }, accepted };
  const parse = (value: unknown) =>
    parseProof({ xPayment: undefined, paymentSignature: header(value, "base64"), paymentProof: undefined });
  const withId = (id: unknown) => ({ ...payload, extensions: { "payment-identifier": { info: { id } } } });

  it("is one proof in PAYMENT-SIGNATURE, in _meta, and in both", () => {
    const proof = {
      method: "gasless",
      carrier: "PAYMENT-SIGNATURE",
      transaction: Buffer.from(transaction, "base64"),
      quoteId: undefined,
      accepted: {
        ...{ scheme: "exact", network: X402_NETWORK, amount: "10000", asset: "mint", payTo: "owner" },
        ...{ feePayer: "payer", memo: `svc:${quoteId}` },
      },
      paymentId: undefined,
    };
    const paymentSignature = header(payload, "base64");
    const none = { xPayment: undefined, paymentProof: undefined };
    expect(parse(payload)).toEqual(proof);
    expect(parseProof({ ...none, metaPayment: payload })).toEqual({
      ...proof,
      carrier: '_meta["x402/payment"]',
    });
    expect(parseProof({ ...none, paymentSignature, metaPayment: payload })).toEqual(proof);
    const bare = paymentSignature.replace(/=+$/, "");
    expect(parseProof({ ...none, paymentSignature: bare })).toEqual(proof);
  });

  it("provides its payment-identifier; other extensions are ignored", () => {
    expect(parse(withId("pay_0123456789abcdef"))).toMatchObject({ paymentId: "pay_0123456789abcdef" });
    for (const extensions of [
      null,
      {},
      { other: 1 },
      { "payment-identifier": { info: { required: false } } },
    ])
      expect(parse({ ...payload, extensions })).toMatchObject({ paymentId: undefined });
  });

  const offering = (change: object) => ({ ...payload, accepted: { ...accepted, ...change } });
  const bad: [string, unknown, RegExp][] = [
    ["version 1", v1, /x402Version must be 2; send a payload of version 1 in X-Payment/],
    ["no version", { ...payload, x402Version: undefined }, /x402Version must be 2/],
    ["a version in words", { ...payload, x402Version: "2" }, /x402Version must be 2/],
    ["no payload", { ...payload, payload: undefined }, /payload is missing/],
    ["a payload that is a text", { ...payload, payload: "x" }, /payload must be an object/],
    ["no transaction", { ...payload, payload: {} }, /payload\.transaction is missing/],
    ["a number as transaction", { ...payload, payload: { transaction: 1 } }, /payload\.transaction must be/],
    ["a transaction in parts", { ...payload, payload: { transaction: "QQ QQ" } }, /transaction: not base64/],
    ["no offer", { ...payload, accepted: undefined }, /accepted is missing/],
    ["an offer that is a list", { ...payload, accepted: [accepted] }, /accepted must be an object/],
    ["an offer without a price", offering({ amount: undefined }), /accepted\.amount is missing/],
    ["a number as price", offering({ amount: 10_000 }), /accepted\.amount must be/],
    ["an object as memo", offering({ extra: { memo: {} } }), /extra\.memo must be/],
    ["an identifier of 15 characters", withId("a".repeat(15)), /info\.id must be 16 to 128/],
    ["an identifier of 129 characters", withId("a".repeat(129)), /info\.id must be 16 to 128/],
    ["an identifier with a space", withId("pay 0123456789abcdef"), /info\.id must be 16 to 128/],
    ["extensions that are a list", { ...payload, extensions: [] }, /extensions must be an object/],
  ];
  it.each(bad)("is refused: %s", (_, value, message) => {
    const answer = refusal(() => parse(value));
    expect(answer).toMatch(/^INVALID_PAYMENT 400 PAYMENT-SIGNATURE: /);
    expect(answer).toMatch(message);
  });

  it("is refused in base64url, which no x402 client sends", () => {
    const bytes = Buffer.from(JSON.stringify({ ...payload, note: "\u{10ffff}>>???" }));
    const paymentSignature = bytes.toString("base64url");
    expect(paymentSignature).toMatch(/[-_]/);
    const parsed = () => parseProof({ xPayment: undefined, paymentSignature, paymentProof: undefined });
    expect(refusal(parsed)).toBe("INVALID_PAYMENT 400 PAYMENT-SIGNATURE: not base64");
  });

  it("is refused beside any other proof, and the error names both", () => {
    const paymentSignature = header(payload, "base64");
    const other = { ...payload, payload: { transaction: randomBytes(500).toString("base64") } };
    const rows: [Partial<ProofCarriers>, RegExp][] = [
      [{ metaPayment: other }, /^PAYMENT-SIGNATURE and _meta\["x402\/payment"\] name different/],
      [{ metaPayment: withId("pay_0123456789abcdef") }, /name different payments/],
      [{ xPayment: header({ tx, quote_id: quoteId }) }, /^X-Payment and PAYMENT-SIGNATURE name different/],
      [{ xPayment: header(v1) }, /name different payments/],
      [
        { paymentProof: { txRef: tx, network: "solana-mainnet", quoteId } },
        /^PAYMENT-SIGNATURE and payment_proof/,
      ],
    ];
    for (const [carriers, message] of rows) {
      const all = { xPayment: undefined, paymentProof: undefined, paymentSignature, ...carriers };
      const answer = refusal(() => parseProof(all));
      expect(answer.slice("INVALID_PAYMENT 400 ".length)).toMatch(message);
    }
  });

  it("is the same proof or none after any change of its text", () => {
    const text = header(withId("pay_0123456789abcdef"), "base64");
    const carriers = (paymentSignature: string) => ({
      xPayment: undefined,
      paymentSignature,
      paymentProof: undefined,
    });
    for (let length = 0; length < text.length; length++) {
      if (text.slice(length).replaceAll("=", "") === "") continue;
      expect(refusal(() => parseProof(carriers(text.slice(0, length))))).toMatch(/^INVALID_PAYMENT 400 /);
    }
    const at = fc.nat(text.length - 1);
    const letter = fc.constantFrom(..."ABCDwxyz0189+/=-_ ,");
    fc.assert(
      fc.property(at, letter, (index, other) =>
        /^(accepted|INVALID_PAYMENT 400 PAYMENT-SIGNATURE: )/.test(
          refusal(() => parseProof(carriers(text.slice(0, index) + other + text.slice(index + 1)))),
        ),
      ),
    );
  });
});
