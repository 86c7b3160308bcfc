import type { Receipt } from "../../domain/calls/receipt.ts";

/** The operator's refunds. */
export interface Refunds {
  /**
   * Gives what a receipt debited back to its account, once.
   * @returns the receipt; `refunded` is false when it had been given back before
   * @throws ToolgateError NOT_FOUND for an unknown receipt
   */
  refund(refund: { receiptId: string; reason: string }): Promise<{ receipt: Receipt; refunded: boolean }>;
}
