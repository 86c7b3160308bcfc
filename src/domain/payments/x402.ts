// Names of x402 versions 1 and 2, scheme `exact` on Solana.

/** The only scheme: exactly the requested amount. */
export const X402_SCHEME = "exact";
/** Solana mainnet (CAIP-2: the first 32 characters of the genesis hash). */
export const X402_NETWORK = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp";
/** Solana mainnet in version 1. */
export const X402_V1_NETWORK = "solana";

/** Carriers of a payload: the header of version 2, and `_meta` of an MCP request. */
export const PAYMENT_SIGNATURE = "PAYMENT-SIGNATURE";
export const META_PAYMENT = "x402/payment";

/** One entry of `accepts`. */
export interface X402Terms {
  readonly scheme: string;
  readonly network: string;
  /** Micro-USD, decimal. */
  readonly amount: string;
  /** The USDC mint, base58. */
  readonly asset: string;
  /** Owner of the treasury's token account, base58. */
  readonly payTo: string;
  /** Payer of the network fee, base58. */
  readonly feePayer: string;
  /** `<prefix>:<quote_id>` */
  readonly memo: string;
}

/** The treasury in x402 terms. Base58. */
export interface X402Treasury {
  /** Owner of the token account. */
  readonly owner: string;
  readonly mint: string;
}

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
