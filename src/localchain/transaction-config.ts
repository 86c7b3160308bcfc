import type { V1CompiledTransactionMessage } from "@solana/kit";
import type { Json } from "./json.ts";

/** Bits of a v1 message's config mask; the priority fee is a u64 and takes two of them. */
const PRIORITY_FEE = 0b00011;
const COMPUTE_UNIT_LIMIT = 0b00100;
const LOADED_ACCOUNTS_DATA_SIZE_LIMIT = 0b01000;
const HEAP_SIZE = 0b10000;

/** The limits and the fee that a v1 message carries itself, in place of ComputeBudget instructions. */
export function transactionConfig(message: V1CompiledTransactionMessage): Json {
  const values = message.configValues.values();
  const next = (bits: number): number | bigint | null =>
    (message.configMask & bits) === 0 ? null : (values.next().value?.value ?? null);
  // The values follow each other in the order of their bits.
  const priorityFee = next(PRIORITY_FEE);
  const computeUnitLimit = next(COMPUTE_UNIT_LIMIT);
  const loadedAccountsDataSizeLimit = next(LOADED_ACCOUNTS_DATA_SIZE_LIMIT);
  const heapSize = next(HEAP_SIZE);
  return { computeUnitLimit, heapSize, loadedAccountsDataSizeLimit, priorityFee };
}
