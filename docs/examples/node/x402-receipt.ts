// Buys a tool call with a wallet alone, and verifies the signed offer before it pays, and the receipt.
//   TOOLGATE_URL=http://127.0.0.1:8080 WALLET=wallet.json SOLANA_RPC_URL=https://… node x402-receipt.ts
import { readFileSync } from "node:fs";
import { createKeyPairSignerFromBytes } from "@solana/kit";
import { decodePaymentRequiredHeader } from "@x402/core/http";
import {
  decodeSignedOffers,
  extractJWSHeader,
  extractOffersFromPaymentRequired,
  extractReceiptFromResponse,
  findAcceptsObjectFromSignedOffer,
  isJWSSignedOffer,
  isJWSSignedReceipt,
  verifyOfferSignatureJWS,
  verifyReceiptMatchesOffer,
  verifyReceiptSignatureJWS,
  type DecodedOffer,
} from "@x402/extensions/offer-receipt";
import { wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import { ExactSvmScheme } from "@x402/svm";
import { settings, WALLET } from "./settings.ts";

const { TOOLGATE_URL, SOLANA_RPC_URL } = settings("TOOLGATE_URL", "SOLANA_RPC_URL");
const url = `${TOOLGATE_URL}/x402/vram_estimate`;
const wallet = await createKeyPairSignerFromBytes(Uint8Array.from(JSON.parse(readFileSync(WALLET, "utf8"))));

/** The package verifies a signature with the key that it names, even a stranger's. */
function requireSigner(jws: string): void {
  const { kid = "none" } = extractJWSHeader(jws);
  const did = `did:web:${encodeURIComponent(new URL(TOOLGATE_URL).host)}`;
  if (!kid.startsWith(`${did}#`) && !kid.startsWith(`${did}:`))
    throw new Error(`signed by ${kid}, not ${did}`);
}

let offer: DecodedOffer | undefined;
const verifying: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  const header = response.headers.get("PAYMENT-REQUIRED");
  if (header === null) return response;
  const required = decodePaymentRequiredHeader(header);
  const [signed] = extractOffersFromPaymentRequired(required);
  if (!signed || !isJWSSignedOffer(signed)) throw new Error("the offer is not signed");
  requireSigner(signed.signature);
  await verifyOfferSignatureJWS(signed);
  [offer] = decodeSignedOffers([signed]);
  const terms = offer && findAcceptsObjectFromSignedOffer(offer, required.accepts);
  if (!terms || offer?.resourceUrl !== url) throw new Error("other terms were signed");
  return response;
};

const scheme = new ExactSvmScheme(wallet, { rpcUrl: SOLANA_RPC_URL });
const paying = wrapFetchWithPaymentFromConfig(verifying, {
  schemes: [{ network: "solana:*", client: scheme }],
});
const response = await paying(url, {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify({ model: "llama-3.1-8b", context_length: 8192 }),
});
const { result, receipt: stored, code, message } = JSON.parse(await response.text());
if (!response.ok) throw new Error(`${code}: ${message}`);

const receipt = extractReceiptFromResponse(response);
if (!receipt || !isJWSSignedReceipt(receipt)) throw new Error("the receipt is not signed");
requireSigner(receipt.signature);
const { transaction } = await verifyReceiptSignatureJWS(receipt);
if (
  !offer ||
  !verifyReceiptMatchesOffer(receipt, offer, [wallet.address]) ||
  transaction !== stored.tx_signature
)
  throw new Error("the receipt is of another call");
console.log(result.total, receipt.signature);
