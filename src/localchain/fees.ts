import type { CompiledTransactionMessage } from "@solana/kit";
import { COMPUTE_BUDGET_PROGRAM } from "./addresses.ts";
import { compiledInstructions } from "./compiled-instruction.ts";
import { transactionConfig } from "./transaction-config.ts";

/** Lamports for each signature (Solana docs, "Transaction fees"). */
const LAMPORTS_PER_SIGNATURE = 5_000n;
const MICRO_LAMPORTS_PER_LAMPORT = 1_000_000n;
const DEFAULT_UNITS_PER_INSTRUCTION = 200_000n;
const MAX_UNITS = 1_400_000n;
/** Discriminators of the ComputeBudget instructions. */
const SET_COMPUTE_UNIT_LIMIT = 2;
const SET_COMPUTE_UNIT_PRICE = 3;

/** A message's fee, lamports: signatures, and the priority fee rounded up. */
export function messageFee(message: CompiledTransactionMessage): bigint {
  const base = LAMPORTS_PER_SIGNATURE * BigInt(message.header.numSignerAccounts);
  return (
    base + (message.version === 1 ? (transactionConfig(message).priorityFee ?? 0n) : priorityFee(message))
  );
}

function priorityFee(message: Exclude<CompiledTransactionMessage, { version: 1 }>): bigint {
  let price = 0n; // micro-lamports per compute unit
  let limit: bigint | undefined;
  let others = 0n;
  for (const { programIndex, data } of compiledInstructions(message)) {
    if (message.staticAccounts[programIndex] !== COMPUTE_BUDGET_PROGRAM) {
      others++;
      continue;
    }
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    if (data[0] === SET_COMPUTE_UNIT_LIMIT && data.length === 5) limit = BigInt(view.getUint32(1, true));
    if (data[0] === SET_COMPUTE_UNIT_PRICE && data.length === 9) price = view.getBigUint64(1, true);
  }
  const asked = limit ?? others * DEFAULT_UNITS_PER_INSTRUCTION;
  const units = asked < MAX_UNITS ? asked : MAX_UNITS;
  return (price * units + MICRO_LAMPORTS_PER_LAMPORT - 1n) / MICRO_LAMPORTS_PER_LAMPORT;
}
