import { z } from "zod";
import { SigningKey } from "./ed25519.ts";

const keyFile = z.array(z.int().min(0).max(255)).length(64);

/**
 * Reads the fee payer's key file: a JSON array of 64 numbers, the secret and the public half, as `solana-keygen` writes it.
 * @param text what FEE_PAYER_KEYPAIR's file holds
 * @throws TypeError that says what is wrong, and repeats nothing of it
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
