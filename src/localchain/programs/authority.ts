import { createHash } from "node:crypto";
import { Keypair } from "@solana/web3.js";

/**
 * A key pair of the local chain itself. It is derived from its purpose and therefore public: the chain is the
 * same after every restart, and its money is worth nothing.
 */
export function localKeypair(purpose: string): Keypair {
  return Keypair.fromSeed(createHash("sha256").update(`local chain ${purpose}`).digest());
}
