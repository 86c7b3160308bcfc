import { z } from "zod";
import { SigningKey } from "./ed25519.ts";

const keyFile = z.array(z.int().min(0).max(255)).length(64);

/**
 * Parses the fee payer's key file: a JSON array of 64 numbers, secret and public half, as `solana-keygen`
 * writes it.
 * @param text content of FEE_PAYER_KEYPAIR
 * @throws TypeError without any content of the file
 */
export function readFeePayer(text: string): SigningKey {
  const bytes = keyFile.safeParse(parse(text));
  if (!bytes.success)
    throw new TypeError("FEE_PAYER_KEYPAIR: the file must hold a JSON array of 64 numbers from 0 to 255");
  const secret = Buffer.from(bytes.data);
  const key = new SigningKey(secret.subarray(0, 32));
  if (!key.publicKey.equals(secret.subarray(32))) {
    throw new TypeError(
      "FEE_PAYER_KEYPAIR: the last 32 numbers of the file are not the public key of the first 32",
    );
  }
  return key;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
