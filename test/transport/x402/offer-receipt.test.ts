import { createPublicKey, verify } from "node:crypto";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Receipt, ReceiptStatus } from "../../../src/domain/calls/receipt.ts";
import { JwsSigner } from "../../../src/domain/payments/jws-signer.ts";
import { X402_NETWORK } from "../../../src/domain/payments/x402.ts";
import { didDocuments } from "../../../src/transport/documents/did-document.ts";
import { OfferReceipts } from "../../../src/transport/x402/offer-receipt.ts";

const KEYS = [1, 2].map((version) => ({ version, secret: Buffer.alloc(32, version) }));
const TERMS = {
  scheme: "exact",
  network: X402_NETWORK,
  amount: "1000",
  asset: "mint",
  payTo: "owner",
  feePayer: "payer",
  memo: "svc:qt_1",
};

function signing({ cell = 0, baseUrl = "https://tools.example.com" } = {}) {
  let now = 1_000_000_000_000;
  let signatures = 0;
  let current = 1;
  const keys = {
    all: () => KEYS,
    current: () => KEYS[current]!,
  };
  class Counted extends JwsSigner {
    override sign(...args: Parameters<JwsSigner["sign"]>): string {
      signatures++;
      return super.sign(...args);
    }
  }
  const signer = new Counted(keys);
  const signed = new OfferReceipts({ signer, clock: { now: () => now }, baseUrl: () => baseUrl, cell });
  const documents = didDocuments({ signer, cell, publicUrl: baseUrl, baseUrl: () => baseUrl });
  return {
    signed,
    documents,
    signatures: () => signatures,
    advance: (ms: number) => void (now += ms),
    useKey: (index: number) => void (current = index),
    offer(terms: object = {}, path = "/x402/chat") {
      return signed.offered(path, { issuedAt: now, expiresAt: now + 300_000 }, [{ ...TERMS, ...terms }]);
    },
  };
}

const receipt = (status: ReceiptStatus, txSignature: string | undefined = "5x"): Receipt => ({
  ...{ receiptId: "rcpt_1", runId: "run_1", tool: "chat", quoteId: "qt_1", stepId: undefined, txSignature },
  ...{ quoted: 1_000n, debited: 1_000n, refunded: 0n, paidBy: "gasless", status },
  createdAt: new Date(1_000),
});

const offersSchema = z.object({
  "offer-receipt": z.object({ info: z.object({ offers: z.array(z.object({ signature: z.string() })) }) }),
});
const signatureOf = (extension: object) =>
  offersSchema.parse(extension)["offer-receipt"].info.offers[0]?.signature ?? "";

const documentSchema = z.object({
  id: z.string(),
  verificationMethod: z.array(
    z.object({ id: z.string(), publicKeyJwk: z.object({ kty: z.string(), crv: z.string(), x: z.string() }) }),
  ),
});

describe("signed offers", () => {
  it("share one signature per resource, amount and tenth of a lifetime", () => {
    const { offer, signatures, advance } = signing();
    const first = offer();
    expect(offer({ memo: "svc:qt_2" })).toEqual(first);
    expect(signatures()).toBe(1);
    offer({ amount: "1001" });
    offer({}, "/x402/other");
    expect(signatures()).toBe(3);
    advance(30_000);
    expect(signatureOf(offer())).not.toBe(signatureOf(first));
    expect(signatures()).toBe(4);
  });

  it("are signed again after a rotation", () => {
    const { offer, useKey } = signing();
    const first = signatureOf(offer());
    useKey(0);
    expect(signatureOf(offer())).not.toBe(first);
  });

  it("are left out above 100 new signatures a second, but known ones are sent", () => {
    const { offer, signatures, advance } = signing();
    for (let amount = 1; amount <= 300; amount++) offer({ amount: String(amount) });
    expect(signatures()).toBe(100);
    expect(offer({ amount: "300" })).toEqual({});
    signatureOf(offer({ amount: "100" }));
    advance(1_000);
    signatureOf(offer({ amount: "300" }));
  });
});

describe("signed receipts", () => {
  it.each(["refunded", "reversed"] as const)("are not made of a %s call", (status) => {
    expect(signing().signed.bought("/x402/chat", "wallet", receipt(status))).toEqual({});
  });

  it("are not made without a payment", () => {
    const { txSignature: _none, ...paid } = receipt("final");
    const unpaid = { ...paid, txSignature: undefined };
    expect(signing().signed.bought("/x402/chat", "wallet", unpaid)).toEqual({});
  });
});

describe("the document of keys", () => {
  it.each([
    ["https://tools.example.com", 0, ["/.well-known/did.json did:web:tools.example.com"]],
    ["http://127.0.0.1:8080", 0, ["/.well-known/did.json did:web:127.0.0.1%3A8080"]],
    ["https://example.com/tools/v1", 0, ["/did.json did:web:example.com:tools:v1"]],
    [
      "https://tools.example.com",
      3,
      [
        "/.well-known/did.json did:web:tools.example.com",
        "/cells/3/did.json did:web:tools.example.com:cells:3",
      ],
    ],
  ])("at %s, cell %i, is where did:web looks for it", (baseUrl, cell, expected) => {
    const found = signing({ baseUrl, cell }).documents.map(({ path, text }) => [
      path,
      documentSchema.parse(JSON.parse(text())).id,
    ]);
    expect(found.map((one) => one.join(" "))).toEqual(expected);
  });

  it("lists the key of each version, under the id that its signatures name", () => {
    const { offer, documents } = signing({ cell: 3 });
    const [header = "", payload = "", signature = ""] = signatureOf(offer()).split(".");
    const { kid } = z
      .object({ kid: z.string() })
      .parse(JSON.parse(Buffer.from(header, "base64url").toString()));
    const { verificationMethod: methods } = documentSchema.parse(JSON.parse(documents[1]?.text() ?? ""));
    expect(methods.map(({ id }) => id.split("#")[1])).toEqual(["key-1", "key-2"]);
    const valid = methods.map(({ publicKeyJwk: key }) =>
      verify(
        null,
        Buffer.from(`${header}.${payload}`),
        createPublicKey({ key, format: "jwk" }),
        Buffer.from(signature, "base64url"),
      ),
    );
    expect(valid).toEqual([false, true]);
    expect(methods[1]?.id).toBe(kid);
  });
});
