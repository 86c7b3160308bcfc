// x402, versions 1 and 2, scheme `exact` on Solana: the names that both sides use.

/** The one scheme: exactly the amount that is asked. */
export const X402_SCHEME = "exact";
/** Solana mainnet (CAIP-2: the first 32 characters of the genesis hash). */
export const X402_NETWORK = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp";
/** Solana mainnet as version 1 names it. */
export const X402_V1_NETWORK = "solana";

/** Where a payload comes in: header of version 2, `_meta` of an MCP request. */
export const PAYMENT_SIGNATURE = "PAYMENT-SIGNATURE";
export const META_PAYMENT = "x402/payment";

/** What an offer's `accepts` says of one way to pay, all as strings. */
export interface X402Terms {
  readonly scheme: string;
  readonly network: string;
  /** Micro-USD, decimal. */
  readonly amount: string;
  /** The USDC mint, base58. */
  readonly asset: string;
  /** The wallet that owns the treasury's token account, base58. */
  readonly payTo: string;
  /** Who pays the chain's fee, base58. */
  readonly feePayer: string;
  /** `<prefix>:<quote_id>` */
  readonly memo: string;
}

/** Whom and in what an installation is paid, as x402 names it. Base58. */
export interface X402Treasury {
  /** The wallet that owns the token account. */
  readonly owner: string;
  /** The USDC mint. */
  readonly mint: string;
}

/** The terms of one quote. */
export function x402Terms(
  { owner, mint }: X402Treasury,
  feePayer: string,
  memoPrefix: string,
  quote: { readonly quoteId: string; readonly price: bigint },
): X402Terms {
  return {
    scheme: X402_SCHEME,
    network: X402_NETWORK,
    amount: String(quote.price),
    asset: mint,
    payTo: owner,
    feePayer,
    memo: `${memoPrefix}:${quote.quoteId}`,
  };
}
