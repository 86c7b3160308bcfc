import { base58 } from "@scure/base";

/** Addresses of Solana mainnet that a relayed transaction may name, as the 32 bytes that it names them by. */

const address = (text: string): Buffer => Buffer.from(base58.decode(text));

/** Circle's USDC. */
export const USDC_MINT = address("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v");
/** Decimal places of USDC: one base unit is one micro-USD. */
export const USDC_DECIMALS = 6;

/** Sets what a transaction may compute and what it bids for that. */
export const COMPUTE_BUDGET_PROGRAM = address("ComputeBudget111111111111111111111111111111");
/** SPL Token. USDC lives here and not under Token-2022, so that no fee, hook or delegate of a mint can take part. */
export const TOKEN_PROGRAM = address("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");
/** SPL Memo, second version: the one that wallets and the x402 client use. */
export const MEMO_V2_PROGRAM = address("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
/** SPL Memo, first version. */
export const MEMO_V1_PROGRAM = address("Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo");
/** Lighthouse, whose assertions Phantom and Solflare put into what their users sign. */
export const LIGHTHOUSE_PROGRAM = address("L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95");
