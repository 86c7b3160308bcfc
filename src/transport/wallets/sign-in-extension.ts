import type { SignInInput } from "../../domain/accounts/sign-in.ts";

const TEXT = { type: "string" } as const;

const SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: {
    domain: TEXT,
    address: TEXT,
    statement: TEXT,
    uri: { type: "string", format: "uri" },
    version: TEXT,
    chainId: TEXT,
    type: TEXT,
    nonce: TEXT,
    issuedAt: { type: "string", format: "date-time" },
    expirationTime: { type: "string", format: "date-time" },
    signature: TEXT,
  },
  required: ["domain", "address", "uri", "version", "chainId", "type", "nonce", "issuedAt", "signature"],
} as const;

/** Returns the x402 extension `sign-in-with-x` with a challenge. */
export function signInExtension({ chainId, ...info }: SignInInput): object {
  return { "sign-in-with-x": { info, supportedChains: [{ chainId, type: "ed25519" }], schema: SCHEMA } };
}
