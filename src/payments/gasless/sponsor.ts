import { createHash } from "node:crypto";
import { base58 } from "@scure/base";
import { PublicKey } from "@solana/web3.js";
import type {
  DecodedTransaction,
  RelayTerms,
  Sponsor,
  UnsignedTransaction,
  RecentBlockhash,
} from "../../app/payments/gasless/relay-port.ts";
import { parseAddress } from "../../domain/core/base58.ts";
import { isSignedBy } from "../../domain/core/ed25519.ts";
import { invalidField } from "../../domain/core/errors.ts";
import type { Quote } from "../../domain/payments/quote.ts";
import { RELAY_REFUSALS, relayRefused } from "../../domain/payments/relay-refusal.ts";
import { buildPayment, checkTransfer, type Treasury } from "./transfer.ts";
import {
  checkComputeBudget,
  checkAccounts,
  checkMemo,
  checkGuardAccounts,
  RELAYED_GUARDS,
  withoutGuards,
} from "./transaction-rules.ts";
import { readLayout } from "./layout.ts";
import { UsdcAccounts } from "./usdc-accounts.ts";
import { readTransaction, type WireTransaction } from "./wire-transaction.ts";

/** The key that signs as the fee payer: of a key file, or of an external signer. */
export interface FeePayerKey {
  /** 32 bytes. */
  readonly publicKey: Buffer;
  /** Signs deterministically (RFC 8032). @returns 64 bytes */
  sign(message: Uint8Array): Buffer;
  /** Fetches the signature that {@link sign} returns; missing when it needs no other process. */
  prepare?(message: Uint8Array): Promise<void>;
}

export interface SponsorOptions {
  readonly feePayer: FeePayerKey;
  /** Name of the setting that gave the key. Default FEE_PAYER_KEYPAIR. */
  readonly setting?: string;
  /** TREASURY_OWNER, base58. */
  readonly treasuryOwner: string;
  /** MEMO_PREFIX; undefined: any memo is relayed. */
  readonly memoPrefix: string | undefined;
}

interface Checked {
  readonly transaction: DecodedTransaction;
  readonly signature: Buffer | undefined;
  readonly wire: WireTransaction;
  readonly feeLamports: bigint;
  /** Micro-USD. */
  readonly amount: bigint;
}

/** Decodes, checks and signs relayed payments. No I/O; cost limits are in limits.ts. */
export class GaslessSponsor implements Sponsor {
  readonly feePayer: string;
  readonly #key: FeePayerKey;
  readonly #treasury: Treasury;
  readonly #memoPrefix: string | undefined;
  readonly #usdcAccounts: UsdcAccounts;

  /**
   * @throws TypeError if the owner is no address, or is the fee payer, whose signature would move the
   * treasury's money
   */
  constructor(
    { feePayer, setting, treasuryOwner, memoPrefix }: SponsorOptions,
    usdcAccounts = new UsdcAccounts(),
  ) {
    this.#usdcAccounts = usdcAccounts;
    const owner = parseAddress(treasuryOwner);
    if (!owner) throw new TypeError("TREASURY_OWNER: must be a Solana address (base58 of 32 bytes)");
    if (feePayer.publicKey.equals(owner)) {
      throw new TypeError(
        `${setting ?? "FEE_PAYER_KEYPAIR"}: must be another key than the treasury's owner; it holds SOL ` +
          "for fees and nothing else",
      );
    }
    this.feePayer = base58.encode(feePayer.publicKey);
    this.#key = feePayer;
    this.#treasury = { owner: Buffer.from(owner), tokenAccount: this.#usdcAccounts.of(Buffer.from(owner)) };
    this.#memoPrefix = memoPrefix;
  }

  to(recipient: string): Sponsor {
    const options = { feePayer: this.#key, treasuryOwner: recipient, memoPrefix: undefined };
    return new GaslessSponsor(options, this.#usdcAccounts);
  }

  async prepare(bytes: Uint8Array): Promise<void> {
    if (!this.#key.prepare) return;
    const { wire, ours } = this.#verify(bytes);
    if (ours) await this.#key.prepare(wire.message);
  }

  decode(bytes: Uint8Array): DecodedTransaction {
    return this.#check(bytes).transaction;
  }

  sign(
    { bytes }: { readonly bytes: Uint8Array },
    quote: RelayTerms,
  ): { signedTransaction: Uint8Array; feeLamports: bigint } {
    const { transaction, signature, wire, feeLamports, amount } = this.#check(bytes);
    if (!signature) {
      const found = base58.encode(wire.keys[0] ?? Buffer.alloc(0));
      throw relayRefused(
        RELAY_REFUSALS.FEE_PAYER,
        `the fee payer is ${found} and must be ${this.feePayer}; rebuild the transaction with the ` +
          "fee_payer of the 402 answer",
      );
    }
    if (amount !== quote.price) {
      throw relayRefused(
        RELAY_REFUSALS.TRANSFER_AMOUNT,
        `the transfer is of ${amount} micro-USDC and must be of ${quote.price}, the price of the quote`,
      );
    }
    const memo = quote.memo ?? this.#memoOf(quote);
    if (transaction.memo !== memo) {
      throw relayRefused(
        RELAY_REFUSALS.MEMO_QUOTE,
        `the memo is of another payment; it must be exactly ${memo}`,
      );
    }
    const others = wire.signatures.slice(1);
    return {
      signedTransaction: Buffer.concat([Buffer.of(2), signature, ...others, wire.message]),
      feeLamports,
    };
  }

  build({
    quote,
    payer,
    recent,
  }: {
    quote: Quote;
    payer: string;
    recent: RecentBlockhash;
  }): UnsignedTransaction {
    const address = parseAddress(payer);
    if (!address) throw invalidField("payer", "must be a Solana address (base58 of 32 bytes)");
    if (!PublicKey.isOnCurve(address))
      throw invalidField("payer", "must be a wallet that can sign, not an address of a program");
    if (payer === this.feePayer || this.#treasury.owner.equals(address)) {
      throw invalidField("payer", "must be your own wallet, not the fee payer and not the treasury");
    }
    const owner = Buffer.from(address);
    return buildPayment({
      feePayer: this.#key.publicKey,
      payer: owner,
      source: this.#usdcAccounts.of(owner),
      destination: this.#treasury.tokenAccount,
      amount: quote.price,
      memo: this.#memoOf(quote),
      recent,
    });
  }

  /** Checks every rule except those of the quote; whether the fee payer is ours. */
  #verify(bytes: Uint8Array) {
    const wire = readTransaction(bytes);
    checkAccounts(wire);
    const { guards, rest } = withoutGuards(wire, RELAYED_GUARDS);
    const layout = readLayout(rest, wire.keys);
    const feeLamports = checkComputeBudget(layout, guards.length);
    const memo = checkMemo(layout.memo, this.#memoPrefix);
    const [feePayer, payer] = wire.keys;
    const payerSignature = wire.signatures[1];
    if (!feePayer || !payer || !payerSignature || !isSignedBy(payer, wire.message, payerSignature)) {
      throw relayRefused(
        RELAY_REFUSALS.PAYER_SIGNATURE,
        "the second signature is not the payer's over this message; sign the message last, after " +
          "everything in it is final",
      );
    }
    const amount = checkTransfer(layout.transfer, wire, this.#treasury, this.#usdcAccounts);
    checkGuardAccounts(guards, layout.transfer.accounts[0]);
    return { wire, memo, payer, feeLamports, amount, ours: feePayer.equals(this.#key.publicKey) };
  }

  /** The key signs after all checks: anyone can send a signed transaction. */
  #check(bytes: Uint8Array): Checked {
    const { wire, memo, payer, feeLamports, amount, ours } = this.#verify(bytes);
    const signature = ours ? this.#key.sign(wire.message) : undefined;
    const transaction = {
      bytes,
      messageHash: createHash("sha256").update(wire.message).digest(),
      txSignature: signature && base58.encode(signature),
      memo,
      payer: base58.encode(payer),
      blockhash: base58.encode(wire.blockhash),
    };
    return { transaction, signature, wire, feeLamports, amount };
  }

  #memoOf(quote: RelayTerms): string {
    return `${this.#memoPrefix}:${quote.quoteId}`;
  }
}
