import { base58 } from "@scure/base";

/** Solana mainnet addresses that a relayed transaction may name, 32 bytes each. */

const address = (text: string): Buffer => Buffer.from(base58.decode(text));

/** Circle's USDC. */
export const USDC_MINT = address("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v");
/** One base unit is one micro-USD. */
export const USDC_DECIMALS = 6;

/** Sets compute limit and price. */
export const COMPUTE_BUDGET_PROGRAM = address("ComputeBudget111111111111111111111111111111");
/** SPL Token. USDC is not a Token-2022 mint, so it has no fees, hooks or permanent delegate. */
export const TOKEN_PROGRAM = address("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");
/** SPL Memo v2, used by wallets and the x402 client. */
export const MEMO_V2_PROGRAM = address("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
/** SPL Memo v1. */
export const MEMO_V1_PROGRAM = address("Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo");
/** Lighthouse: Phantom and Solflare add its assertions to what users sign. */
export const LIGHTHOUSE_PROGRAM = address("L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95");
