import { type MicroUsd, formatUsdc } from "../../domain/core/money.ts";
import type { Page, PageRequest } from "../../domain/core/page.ts";
import type { Quotes } from "../../domain/payments/quote.ts";

interface AccountRevenue {
  readonly accountId: string;
  readonly calls: bigint;
  readonly charged: MicroUsd;
  /** Refunded in the period, whenever it was charged. */
  readonly refunded: MicroUsd;
}

interface ModelMargin {
  /** Empty: calls without a model. */
  readonly model: string;
  readonly calls: bigint;
  readonly charged: MicroUsd;
  /** The part of {@link charged} whose {@link cost} is known. */
  readonly costed: MicroUsd;
  readonly cost: MicroUsd;
}

export interface RevenueReport {
  /** The hundred highest, highest first. */
  readonly accounts: readonly AccountRevenue[];
  /** The hundred highest, highest first. */
  readonly models: readonly ModelMargin[];
  readonly calls: bigint;
  readonly charged: MicroUsd;
  readonly refunded: MicroUsd;
  readonly accountCount: bigint;
}

export interface RevenueReports {
  /** @throws ToolgateError INVALID_REQUEST for an empty period or one of more than 366 days */
  revenue(period: { from: Date; to: Date | undefined }): Promise<RevenueReport>;
}

export interface EndpointStatus {
  /** Host and port only: the rest of the URL may contain a secret. */
  host: string;
  /** Confirmed slot; undefined when the endpoint did not answer. */
  slot: bigint | undefined;
  /** Response time, ms; undefined when the endpoint did not answer. */
  latencyMs: number | undefined;
  /** Failure without text from the endpoint; undefined when it answered. */
  problem: string | undefined;
}

export interface ChainStatus {
  /** In configuration order. */
  endpoints: EndpointStatus[];
  /** Finalized balance of the treasury, micro-USD; undefined when no endpoint answers. */
  held: MicroUsd | undefined;
  /** Balance of the fee payer, lamports; undefined when no endpoint answers or no fee payer is set. */
  lamports: bigint | undefined;
}

/** Checks all endpoints concurrently. */
export interface ChainMonitor {
  /** Takes seconds at most and never rejects: failures are reported per endpoint. */
  check(feePayer: string | undefined): Promise<ChainStatus>;
}

export interface CallMinute {
  start: Date;
  completed: number;
  /** Failed or cancelled. */
  failed: number;
  /** Micro-USD. */
  charged: MicroUsd;
}

export interface OperationsQueries {
  /** Active runs, and liabilities: the sum of balances and open holds, micro-USD. */
  figures(): Promise<{ activeRuns: number; liabilities: MicroUsd }>;
  /** The last 60 minutes, oldest first. */
  minutes(): Promise<CallMinute[]>;
  /** Total charges minus refunds, micro-USD; undefined while the backlog is too large for one query. */
  revenue(): Promise<MicroUsd | undefined>;
  /** Newest first. @throws ToolgateError INVALID_REQUEST for an invalid cursor */
  failedPayments(query: PageRequest): Promise<Page<FailedPayment>>;
}

/** What a database says about its restore from a backup. */
export interface RestoreMark {
  /** Identifies the restore: its target, the name given to it, or the cluster that it was restored into. */
  readonly mark: string;
  /** When `after-restore` last ran since; null: not yet. */
  readonly reconciledAt: Date | null;
}

export interface Restores {
  /** Undefined when the database was not restored, or is a standby's that took over. */
  mark(): Promise<RestoreMark | undefined>;
  /** Returns which of these operator actions (`act_…`) are not stored. */
  missingActions(actionIds: readonly string[]): Promise<string[]>;
  /** Returns which of these receipts (`rcpt_…`) are not stored. */
  missingReceipts(receiptIds: readonly string[]): Promise<string[]>;
}

/** Explains to the operator why a payment bought no call. */
export function failureReason(payment: FailedPayment, quotes: Pick<Quotes, "open">): string {
  switch (payment.kind) {
    case "relay":
      return `The relayed transaction failed: ${payment.relayReason ?? "no reason was reported"}.`;
    case "reversed":
      return "The transaction did not stay on the chain, and its credit was taken back.";
    case "unused":
      return `It was credited to the balance: ${unusedReason(payment, quotes)}.`;
    default:
      return payment.kind satisfies never;
  }
}

function unusedReason(
  { quoteId, amount = 0n, quotePaid, blockTime }: FailedPayment,
  quotes: Pick<Quotes, "open">,
) {
  const quote = quoteId === undefined ? undefined : quotes.open(quoteId);
  if (quotePaid) return "another payment has bought the call of this quote";
  if (!quote) return "its proof did not arrive in time";
  if (amount < quote.price) return `it is less than the price of ${formatUsdc(quote.price)} USDC`;
  const lateMs = (blockTime?.getTime() ?? 0) - quote.expiresAt;
  if (lateMs > 0) return `it came ${Math.ceil(lateMs / 1_000)} s after the quote expired`;
  return "its proof did not arrive in time";
}

export type FailedPaymentKind = "reversed" | "unused" | "relay";

/** A payment that bought no call. */
export interface FailedPayment {
  txSignature: string;
  kind: FailedPaymentKind;
  /** Undefined when it belongs to no account. */
  accountId: string | undefined;
  quoteId: string | undefined;
  /** Gain of the treasury, micro-USD; undefined when there was none. */
  amount: MicroUsd | undefined;
  /** Undefined when it is in no block. */
  blockTime: Date | undefined;
  quotePaid: boolean;
  /** Failure of the relay; undefined for other kinds. */
  relayReason: string | undefined;
  at: Date;
}
