import { EntryKind } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { CallOutcome } from "#gen/toolgate/console/v1/history_service_pb.ts";
import { PaidBy, ReceiptStatus } from "#gen/toolgate/v1/receipt_pb.ts";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Run } from "#gen/toolgate/v1/run_pb.ts";
import { formatDuration } from "../format.ts";

/** A status as text, with the kind that sets its icon and colour. */
export interface StatusLabel {
  readonly text: string;
  readonly kind: "ok" | "bad" | "warn" | "wait" | "off";
}

const UNKNOWN: StatusLabel = { text: "Unknown", kind: "off" };

const RECEIPT_STATUS: Readonly<Record<number, StatusLabel>> = {
  [ReceiptStatus.FINAL]: { text: "Final", kind: "ok" },
  [ReceiptStatus.REFUNDED]: { text: "Refunded", kind: "off" },
  [ReceiptStatus.REVERSED]: { text: "Reversed", kind: "bad" },
};

export function receiptStatusLabel(status: ReceiptStatus): StatusLabel {
  return RECEIPT_STATUS[status] ?? UNKNOWN;
}

const OUTCOME: Readonly<Record<number, StatusLabel>> = {
  [CallOutcome.SUCCEEDED]: { text: "Succeeded", kind: "ok" },
  [CallOutcome.FAILED]: { text: "Failed", kind: "bad" },
  [CallOutcome.TIMEOUT]: { text: "Timed out", kind: "bad" },
  [CallOutcome.LIMIT]: { text: "Limit exceeded", kind: "bad" },
  [CallOutcome.CANCELLED]: { text: "Cancelled", kind: "off" },
  [CallOutcome.UNSPECIFIED]: { text: "Running", kind: "wait" },
};

export function outcomeLabel(outcome: CallOutcome | undefined): StatusLabel {
  return OUTCOME[outcome ?? -1] ?? UNKNOWN;
}

export function statusLabel(status: number): StatusLabel {
  if (status < 400) return { text: String(status), kind: "ok" };
  return { text: String(status), kind: status === 402 ? "wait" : status < 500 ? "warn" : "bad" };
}

const PAYMENT_METHOD: Readonly<Record<number, string>> = {
  [PaidBy.BALANCE]: "Balance",
  [PaidBy.TRANSFER]: "Wallet payment",
  [PaidBy.GASLESS]: "Wallet payment (no network fee)",
};

export function paymentMethodLabel(paidBy: PaidBy): string {
  return PAYMENT_METHOD[paidBy] ?? "Unknown";
}

const ENTRY_KIND: Readonly<Record<number, string>> = {
  [EntryKind.DEPOSIT]: "Deposit",
  [EntryKind.ASSIGNMENT]: "Assigned payment",
  [EntryKind.CHARGE]: "Charge",
  [EntryKind.REFUND]: "Refund",
  [EntryKind.REVERSAL]: "Reversed payment",
  [EntryKind.REINSTATEMENT]: "Reinstated payment",
  [EntryKind.ADJUSTMENT]: "Adjustment",
  [EntryKind.CLEARING]: "Moved balance",
};

export function entryKindLabel(kind: EntryKind): string {
  return ENTRY_KIND[kind] ?? "Entry";
}

/** Formats how long the tool ran; a dash if it has not started or ended. */
export function durationLabel({ startedAt, endedAt }: Pick<Run, "startedAt" | "endedAt">): string {
  if (startedAt === undefined || endedAt === undefined) return "—";
  return formatDuration(Math.max(0, timestampMs(endedAt) - timestampMs(startedAt)));
}

const MEANINGS: Readonly<Record<string, string>> = {
  TOOL_FAILED:
    "The tool failed. Nothing was charged. Retry with the same idempotency key or payment proof: " +
    "the tool runs again without a second payment.",
  UNAVAILABLE:
    "A dependency of the tool, such as a model server, was unreachable. Nothing was charged. " +
    "Retry later with the same idempotency key or payment proof.",
  CANCELLED: "The caller disconnected or cancelled before the tool started. Nothing was charged.",
  INTERNAL:
    "The gateway failed. Nothing was charged. Retry with the same idempotency key or payment proof. If it " +
    "happens again, send the run ID to the operator.",
  INVALID_REQUEST:
    "The tool rejected its parameters. Nothing was charged. " +
    "Correct the parameters named in the message and call again.",
  RATE_LIMITED: "The tool received too many calls at once. Nothing was charged. Wait, then retry.",
  FORBIDDEN:
    "A limit of the key or its group refused the call, the key lacks a permission, or the account is " +
    "blocked. Nothing was charged.",
  INVALID_PAYMENT: "The payment could not be used for this call. Read the message before you pay again.",
  QUOTE_EXPIRED:
    "The payment arrived after its quote had expired. The amount was credited to your balance " +
    "and can pay for the next call.",
};

export function errorMeaning(code: string): string {
  return MEANINGS[code] ?? "The run did not complete, so nothing was charged. See the message for details.";
}
