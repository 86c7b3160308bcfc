import type { Receipt } from "../../domain/calls/receipt.ts";

export interface Refunds {
  /**
   * Refunds a receipt to its account, once.
   * @returns the receipt; `refunded` is false when it was refunded before
   * @throws ToolgateError NOT_FOUND for an unknown receipt
   */
  refund(refund: { receiptId: string; reason: string }): Promise<{ receipt: Receipt; refunded: boolean }>;
}
