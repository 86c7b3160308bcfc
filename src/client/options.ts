import { addressBytes, isOnCurve, tokenAccountOf } from "./address.ts";
import { Budget } from "./budget.ts";
import { USDC_MINT } from "./offer.ts";
import { PaymentBook } from "./payment-record.ts";
import type { Payment } from "./payment.ts";
import { SolanaRpc } from "./rpc.ts";
import type { Signer } from "./signer.ts";
import { memoryStore, type PaymentStore } from "./store.ts";
import { microUsd, type Usdc } from "./usdc.ts";

/** By a transfer that the caller sends, or by a transaction that the gateway sends and pays the fee of. */
export type PaymentMethod = "gasless" | "transfer" | "auto";

/** Whom to pay with, how, and how much at most. */
export interface PaymentOptions {
  /** A key that signs bytes, or a wallet (`keypairSigner`, `walletSigner`, `standardWalletSigner`). */
  readonly signer: Signer;
  /** The most that one call may cost. */
  readonly maxPrice: Usdc;
  /**
   * Maximum cost of all calls together, of every process that shares the store. Without a time limit: another
   * name is another budget, such as one for each month.
   */
  readonly budget: Usdc | { readonly total: Usdc; readonly name: string };
  /** Store for payments, written before they are made. Default: memory, lost in a crash. */
  readonly store?: PaymentStore;
  /** Default `auto`: gasless where the gateway offers it, else a transfer. */
  readonly method?: PaymentMethod;
  /** Solana JSON-RPC; needed for transfers. */
  readonly rpcUrl?: string;
  /** The wallet, or the token account, that is to be paid. Offers that name another are refused. */
  readonly treasury?: string;
  /** Micro-lamports per compute unit, higher on a busy chain. Default 10000: 400 lamports per payment. */
  readonly computeUnitPrice?: bigint;
  /** How long a payment is followed before `PaymentUnsettledError`, ms. Default 120000. */
  readonly settleTimeoutMs?: number;
  /** Default: the global fetch. */
  readonly fetch?: typeof fetch;
  /** Called for each payment whose call got a response, for callers that never see the response. */
  readonly onPayment?: (payment: Payment) => void;
}

/** The checked options with their dependencies. */
export interface Payer {
  readonly signer: Signer;
  /** micro-USD */
  readonly maxPrice: bigint;
  readonly budget: Budget;
  readonly book: PaymentBook;
  readonly method: PaymentMethod;
  readonly rpc: SolanaRpc | undefined;
  /** Token accounts that may be paid; undefined: any. */
  readonly treasury: ReadonlySet<string> | undefined;
  readonly computeUnitPrice: bigint;
  readonly settleTimeoutMs: number;
  readonly fetch: typeof fetch;
  readonly onPayment: ((payment: Payment) => void) | undefined;
}

/** @throws TypeError naming the option that is wrong */
export function payerOf(options: PaymentOptions): Payer {
  const {
    method = "auto",
    rpcUrl,
    treasury,
    store = memoryStore(),
    budget,
    settleTimeoutMs = 120_000,
  } = options;
  // Called as a plain function: browsers refuse a fetch that is called as a method of another object.
  const given = options.fetch;
  const fetchFn: typeof fetch = given
    ? (input, init) => given(input, init)
    : (input, init) => globalThis.fetch(input, init);
  if (method === "transfer" && rpcUrl === undefined)
    throw new TypeError("rpcUrl: is needed to send transfers");
  if (!(settleTimeoutMs > 0))
    throw new TypeError("settleTimeoutMs: must be a positive number of milliseconds");
  const { total, name } = typeof budget === "object" ? budget : { total: budget, name: "total" };
  return {
    signer: options.signer,
    maxPrice: microUsd(options.maxPrice, "maxPrice"),
    budget: new Budget(store, name, microUsd(total, "budget")),
    book: new PaymentBook(store),
    method,
    rpc: rpcUrl === undefined ? undefined : new SolanaRpc(rpcUrl, fetchFn),
    treasury: treasury === undefined ? undefined : accountsOf(treasury),
    computeUnitPrice: options.computeUnitPrice ?? 10_000n,
    settleTimeoutMs,
    fetch: fetchFn,
    onPayment: options.onPayment,
  };
}

/** The address itself, and the token account that it owns. */
function accountsOf(treasury: string): Set<string> {
  try {
    // An address off the curve has no key: it is a token account already.
    return new Set(
      isOnCurve(addressBytes(treasury)) ? [treasury, tokenAccountOf(treasury, USDC_MINT)] : [treasury],
    );
  } catch (error) {
    throw new TypeError("treasury: must be an address in base58", { cause: error });
  }
}
