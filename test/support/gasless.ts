import { createPrivateKey, sign } from "node:crypto";
import type { Keypair } from "@solana/web3.js";
import { secret } from "./record.ts";

/** PKCS #8 of an Ed25519 key (RFC 8410), up to its 32 bytes. */
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");

/** The payer's signature is the second. */
const PAYER_SIGNATURE = 1 + 64;

/** Signs a transaction of PaymentService with Ed25519 alone, as any language can. @returns base64 */
export function signBuilt(built: { transaction: string; message: string }, { secretKey }: Keypair): string {
  const key = createPrivateKey({
    key: Buffer.concat([PKCS8, secretKey.subarray(0, 32)]),
    format: "der",
    type: "pkcs8",
  });
  const bytes = Buffer.from(built.transaction, "base64");
  sign(null, Buffer.from(built.message, "base64"), key).copy(bytes, PAYER_SIGNATURE);
  return bytes.toString("base64");
}

/** The X-Payment header with a signed transaction, for the gateway to send. */
export function gaslessPayment(transaction: string, quoteId: string): Record<string, string> {
  const proof = Buffer.from(JSON.stringify({ transaction, quote_id: quoteId })).toString("base64url");
  return { "X-Payment": secret("an X-Payment header", proof) };
}
