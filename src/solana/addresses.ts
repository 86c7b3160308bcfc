/** Addresses and names of Solana mainnet that this service relies on. All are base58. */

/** Hash of mainnet's first block: the one answer that tells mainnet from every other cluster (`getGenesisHash`). */
export const MAINNET_GENESIS_HASH = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d";

/** Circle's USDC on Solana mainnet. */
export const USDC_MINT = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";
/** Decimal places of USDC: one base unit is one micro-USD. */
export const USDC_DECIMALS = 6;

/** The SPL Token program. USDC lives here, and not under Token-2022. */
export const TOKEN_PROGRAM = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
/** Gives every wallet one token account of each mint, at an address that is derived. */
export const ASSOCIATED_TOKEN_PROGRAM = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL";

/** The SPL Memo program, first version. */
export const MEMO_V1_PROGRAM = "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo";
/** The SPL Memo program, second version: the one that wallets use. */
export const MEMO_V2_PROGRAM = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr";

/** Sets what a transaction may compute and what it bids for that. */
export const COMPUTE_BUDGET_PROGRAM = "ComputeBudget111111111111111111111111111111";
/** Lighthouse, whose assertions Phantom and Solflare put into what their users sign. */
export const LIGHTHOUSE_PROGRAM = "L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95";
