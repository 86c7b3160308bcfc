import { base58 } from "@scure/base";
import { RELAY_REFUSALS, relayRefused } from "../../domain/payments/relay-refusal.ts";
import type { WireInstruction } from "./wire-transaction.ts";

/** Solana mainnet addresses that a relayed transaction may name, 32 bytes each. */

const address = (text: string): Buffer => Buffer.from(base58.decode(text));

/** Circle's USDC. */
export const USDC_MINT = address("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v");
/** One base unit is one micro-USD. */
export const USDC_DECIMALS = 6;

/** Sets compute limit and price. */
const COMPUTE_BUDGET_PROGRAM = address("ComputeBudget111111111111111111111111111111");
/** SPL Token. USDC is not a Token-2022 mint, so it has no fees, hooks or permanent delegate. */
const TOKEN_PROGRAM = address("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");
/** SPL Memo v2, used by wallets and the x402 client. */
export const MEMO_V2_PROGRAM = address("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
/** SPL Memo v1. */
const MEMO_V1_PROGRAM = address("Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo");
/** Lighthouse: Phantom and Solflare add its assertions to what users sign. */
export const LIGHTHOUSE_PROGRAM = address("L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95");

type Kind = "limit" | "price" | "budget" | "transfer" | "memo";

/** The x402 client puts the memo last, Solana Pay before the transfer, `@solana/mpp` the price first. */
const LAYOUTS: ReadonlySet<string> = new Set([
  "limit price transfer memo",
  "limit price memo transfer",
  "price limit transfer memo",
]);

const WANTED = "SetComputeUnitLimit and SetComputeUnitPrice, then TransferChecked and one memo";

export interface PaymentLayout {
  readonly limit: WireInstruction;
  readonly price: WireInstruction;
  readonly transfer: WireInstruction;
  readonly memo: WireInstruction;
}

/** Finds the payment's four instructions; no others and no duplicates are allowed. Checks their kind only. */
export function readLayout(instructions: readonly WireInstruction[], keys: readonly Buffer[]): PaymentLayout {
  const found = instructions.map((instruction) => ({ instruction, kind: kindOf(instruction, keys) }));
  const order = found.map(({ kind }) => kind).join(" ");
  const at = (kind: Kind) => found.find((one) => one.kind === kind)?.instruction;
  const [limit, price, transfer, memo] = [at("limit"), at("price"), at("transfer"), at("memo")];
  if (!LAYOUTS.has(order) || !limit || !price || !transfer || !memo) {
    throw relayRefused(
      RELAY_REFUSALS.INSTRUCTION_LAYOUT,
      `the instructions must be ${WANTED}; they are: ${order === "" ? "none" : order.replaceAll(" ", ", ")}`,
    );
  }
  return { limit, price, transfer, memo };
}

function kindOf({ program, data }: WireInstruction, keys: readonly Buffer[]): Kind {
  const key = keys[program] ?? Buffer.alloc(0);
  if (key.equals(TOKEN_PROGRAM)) return "transfer";
  if (key.equals(MEMO_V2_PROGRAM) || key.equals(MEMO_V1_PROGRAM)) return "memo";
  if (key.equals(COMPUTE_BUDGET_PROGRAM)) return data[0] === 2 ? "limit" : data[0] === 3 ? "price" : "budget";
  throw relayRefused(
    RELAY_REFUSALS.INSTRUCTION_PROGRAM,
    `an instruction calls ${base58.encode(key)}; a payment calls the compute budget, SPL Token (not ` +
      "Token-2022) and memo programs alone",
  );
}

/**
 * Cost limits of a relayed transaction. Fees are charged for requested units, used or not (Solana,
 * transaction fees).
 */

/** Lamports per signature; there are two. */
const SIGNATURE_LAMPORTS = 5_000n;
/** Compute units: what `@solana/mpp` asks for, and many times what a transfer with a memo needs. */
export const MAX_UNITS = 200_000;
/** Compute units that may be bid for at the highest price: several times what is needed. */
export const PAID_UNITS = 60_000;
/** Additional compute units per guard. */
export const GUARD_UNITS = 10_000;
/** Phantom adds four guards, Solflare two. */
export const MAX_GUARDS = 4;
/** Micro-lamports per compute unit. With the paid units and all guards the fee is 15,000 lamports. */
export const MAX_UNIT_PRICE = 50_000n;

/** Network fee, lamports, for success and failure alike. */
export function feeOf({ units, price }: { units: number; price: bigint }): bigint {
  const microLamports = BigInt(units) * price;
  return 2n * SIGNATURE_LAMPORTS + (microLamports + 999_999n) / 1_000_000n;
}
