import { EntryKind } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { CallOutcome } from "#gen/toolgate/console/v1/history_service_pb.ts";
import { PaidBy, ReceiptStatus } from "#gen/toolgate/v1/receipt_pb.ts";

/** A status as text, with the kind that sets its icon and colour. */
export interface StatusLabel {
  readonly text: string;
  readonly kind: "ok" | "bad" | "warn" | "wait" | "off";
}

/** Label of a receipt's status. */
export function receiptStatusLabel(status: ReceiptStatus): StatusLabel {
  switch (status) {
    case ReceiptStatus.FINAL:
      return { text: "Final", kind: "ok" };
    case ReceiptStatus.REFUNDED:
      return { text: "Refunded", kind: "off" };
    case ReceiptStatus.REVERSED:
      return { text: "Reversed", kind: "bad" };
    default:
      return { text: "Unknown", kind: "off" };
  }
}

/** Label of a call's outcome. */
export function outcomeLabel(outcome: CallOutcome | undefined): StatusLabel {
  switch (outcome) {
    case CallOutcome.SUCCEEDED:
      return { text: "Succeeded", kind: "ok" };
    case CallOutcome.FAILED:
      return { text: "Failed", kind: "bad" };
    case CallOutcome.TIMEOUT:
      return { text: "Timed out", kind: "bad" };
    case CallOutcome.LIMIT:
      return { text: "Limit exceeded", kind: "bad" };
    case CallOutcome.CANCELLED:
      return { text: "Cancelled", kind: "off" };
    case CallOutcome.UNSPECIFIED:
      return { text: "Running", kind: "wait" };
    default:
      return { text: "Unknown", kind: "off" };
  }
}

/** Label of an HTTP status. */
export function statusLabel(status: number): StatusLabel {
  if (status < 400) return { text: String(status), kind: "ok" };
  return { text: String(status), kind: status === 402 ? "wait" : status < 500 ? "warn" : "bad" };
}

/** Label of a payment method. */
export function paymentMethodLabel(paidBy: PaidBy): string {
  switch (paidBy) {
    case PaidBy.BALANCE:
      return "Balance";
    case PaidBy.TRANSFER:
      return "Wallet payment";
    case PaidBy.GASLESS:
      return "Wallet payment (no network fee)";
    default:
      return "Unknown";
  }
}

/** Label of a ledger entry. */
export function entryKindLabel(kind: EntryKind): string {
  switch (kind) {
    case EntryKind.DEPOSIT:
      return "Deposit";
    case EntryKind.ASSIGNMENT:
      return "Assigned payment";
    case EntryKind.CHARGE:
      return "Charge";
    case EntryKind.REFUND:
      return "Refund";
    case EntryKind.REVERSAL:
      return "Reversed payment";
    case EntryKind.REINSTATEMENT:
      return "Reinstated payment";
    case EntryKind.ADJUSTMENT:
      return "Adjustment";
    case EntryKind.CLEARING:
      return "Moved balance";
    default:
      return "Entry";
  }
}
