import type { SignInInput } from "../../domain/accounts/sign-in.ts";

/** Short, because clients send an offer back in PAYMENT-SIGNATURE, whose length is limited. */
const SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  required: ["domain", "address", "uri", "version", "chainId", "type", "nonce", "issuedAt", "signature"],
} as const;

/** Returns the x402 extension `sign-in-with-x` with a challenge. */
export function signInExtension({ chainId, ...info }: SignInInput): object {
  return { "sign-in-with-x": { info, supportedChains: [{ chainId, type: "ed25519" }], schema: SCHEMA } };
}
