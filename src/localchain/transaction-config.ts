import type { V1CompiledTransactionMessage } from "@solana/kit";

/** Bits of a v1 message's config mask; the priority fee is a u64 and uses two. */
const PRIORITY_FEE = 0b00011;
const COMPUTE_UNIT_LIMIT = 0b00100;
const LOADED_ACCOUNTS_DATA_SIZE_LIMIT = 0b01000;
const HEAP_SIZE = 0b10000;

/** The limits and the fee that a v1 message carries itself, in place of ComputeBudget instructions. */
type TransactionConfig = Readonly<
  Record<"computeUnitLimit" | "heapSize" | "loadedAccountsDataSizeLimit" | "priorityFee", bigint | null>
>;

/** Reads the config of a v1 message; its values follow each other in the order of their mask bits. */
export function transactionConfig(message: V1CompiledTransactionMessage): TransactionConfig {
  const values = message.configValues.values();
  const next = (bits: number): bigint | null => {
    if ((message.configMask & bits) === 0) return null;
    const { value } = values.next();
    return value === undefined ? null : BigInt(value.value);
  };
  const priorityFee = next(PRIORITY_FEE);
  const computeUnitLimit = next(COMPUTE_UNIT_LIMIT);
  const loadedAccountsDataSizeLimit = next(LOADED_ACCOUNTS_DATA_SIZE_LIMIT);
  const heapSize = next(HEAP_SIZE);
  return { computeUnitLimit, heapSize, loadedAccountsDataSizeLimit, priorityFee };
}
