import { getAssociatedTokenAddressSync } from "@solana/spl-token";
import { PublicKey } from "@solana/web3.js";
import { Lru } from "../../domain/core/lru.ts";
import { USDC_MINT } from "./layout.ts";

/** Cache capacity. Deriving an address costs more than all other checks except the signature. */
const REMEMBERED = 10_000;

/** Derives and caches associated token accounts for USDC. */
export class UsdcAccounts {
  readonly #mint = new PublicKey(USDC_MINT);
  readonly #known = new Lru<string, Buffer>(REMEMBERED);

  /** @param owner 32 bytes */
  of(owner: Buffer): Buffer {
    const name = owner.toString("latin1");
    let account = this.#known.get(name);
    if (!account) {
      const address = getAssociatedTokenAddressSync(this.#mint, new PublicKey(owner), true);
      // A copy: the address is a part of 64 KB of Node's pool, which it would keep.
      account = Buffer.alloc(owner.length, address.toBuffer());
      this.#known.set(name, account);
    }
    return account;
  }
}
