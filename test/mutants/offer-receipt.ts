import type { Mutant } from "./mutant.ts";

const EXTENSION = "src/transport/x402/offer-receipt.ts";
const UNIT = ["test/transport/x402/offer-receipt.test.ts"];
const OFFICIAL = ["test/interop/x402-offer-receipt.test.ts"];

/** Signatures of offers and receipts without an API key. */
export const OFFER_RECEIPT: readonly Mutant[] = [
  {
    name: "signed-offer-shared",
    guard: "Offers of other terms never share a signature.",
    file: EXTENSION,
    find: "const key = `${signer.version} ${JSON.stringify(payload)}`;",
    replace: "const key = `${signer.version} ${resourceUrl} ${validUntil}`;",
    tests: UNIT,
  },
  {
    name: "signed-offer-rotated",
    guard: "After a rotation offers are signed with the new key at once.",
    file: EXTENSION,
    find: "const key = `${signer.version} ${JSON.stringify(payload)}`;",
    replace: "const key = JSON.stringify(payload);",
    tests: UNIT,
  },
  {
    name: "signed-offer-bounded",
    guard: "Strangers who vary the amount cause a bounded number of signatures.",
    file: EXTENSION,
    find: 'if (!this.#new.take("").allowed) return undefined;',
    replace: 'this.#new.take("");',
    tests: UNIT,
  },
  {
    name: "signed-offer-end",
    guard: "A signed offer ends before its quote.",
    file: EXTENSION,
    find: "Math.floor((Math.floor(quote.expiresAt / step) * step) / 1_000)",
    replace: "Math.floor((Math.ceil(quote.expiresAt / step + 1) * step) / 1_000)",
    tests: OFFICIAL,
    only: "beyond the life of its quote|repeats its terms",
  },
  {
    name: "signed-receipt-final",
    guard: "No receipt is signed for a call whose money went back.",
    file: EXTENSION,
    find: 'if (transaction === undefined || status !== "final") return {};',
    replace: "if (transaction === undefined) return {};",
    tests: UNIT,
  },
  {
    name: "signed-receipt-payer",
    guard: "A receipt names a wallet only for the payment that this wallet made.",
    file: "src/app/calls/call-by-wallet.ts",
    find: "return bought.receipt?.quoteId === quote.quoteId ? { ...bought, payer } : bought;",
    replace: "return { ...bought, payer };",
    tests: OFFICIAL,
    only: "another payment under the same|repeats its terms",
  },
  {
    name: "signing-key-needed",
    guard: "A key that signed receipts is not retired without force.",
    file: "src/postgres/operations/sealing-key-admin.ts",
    find: 'if (purpose === "receipts") return "buyers verify the receipts that it signed";',
    replace: 'if (purpose === "receipts") return undefined;',
    tests: OFFICIAL,
    only: "of the signing key|repeats its terms",
  },
  {
    name: "offer-returnable",
    guard: "An offer that became long still fits into PAYMENT-SIGNATURE.",
    file: "src/transport/x402/offers.ts",
    find: "if (encodedLength(offer, RETURNED_WITH) <= MAX_ENCODED_LENGTH) return offer;",
    replace: "return offer;",
    tests: ["test/transport/x402/offers.test.ts"],
  },
];
