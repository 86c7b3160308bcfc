import { getAssociatedTokenAddressSync } from "@solana/spl-token";
import { Keypair, PublicKey } from "@solana/web3.js";
import { describe, expect, it } from "vitest";
import { USDC_MINT, associatedTokenAccount } from "../../../src/solana/core/treasury.ts";

const byLibrary = (owner: PublicKey, mint: PublicKey) =>
  getAssociatedTokenAddressSync(mint, owner, true).toBase58();

describe("an associated token account", () => {
  it("equals spl-token's derivation for wallets and for off-curve owners", () => {
    const mint = new PublicKey(USDC_MINT);
    const wallets = Array.from({ length: 200 }, () => Keypair.generate().publicKey);
    // The accounts of those, which are off the curve, as vaults are.
    const owners = [...wallets, ...wallets.map((wallet) => new PublicKey(byLibrary(wallet, mint)))];
    const derived = owners.map((owner) => associatedTokenAccount(owner.toBase58(), USDC_MINT));
    expect(derived).toEqual(owners.map((owner) => byLibrary(owner, mint)));
  });

  it("equals spl-token's derivation for other mints", () => {
    const owner = Keypair.generate().publicKey;
    const mints = Array.from({ length: 50 }, () => Keypair.generate().publicKey);
    const derived = mints.map((mint) => associatedTokenAccount(owner.toBase58(), mint.toBase58()));
    expect(derived).toEqual(mints.map((mint) => byLibrary(owner, mint)));
  });

  it.each(["", "0OIl", "1", USDC_MINT.slice(4), `${USDC_MINT}1`])(
    "is rejected for an invalid owner: %j",
    (owner) => {
      expect(() => associatedTokenAccount(owner, USDC_MINT)).toThrow(/is not a Solana address/);
    },
  );
});
