import type { MicroUsd } from "../../domain/core/money.ts";
import type { Page } from "../../domain/core/page.ts";
import type { FailedPayment } from "./failed-payments.ts";

/** One minute of calls, of all instances. */
export interface CallMinute {
  /** Its first moment. */
  start: Date;
  completed: number;
  /** Failed or cancelled. */
  failed: number;
  /** What was charged in it, micro-USD. */
  charged: MicroUsd;
}

/** What the database tells the operator of the service. */
export interface OperationsQueries {
  /** Calls that run right now, and what accounts could spend or get back: the sum of their balances and open holds, micro-USD. */
  figures(): Promise<{ activeRuns: number; liabilities: MicroUsd }>;
  /** The last 60 minutes, oldest first. */
  minutes(): Promise<CallMinute[]>;
  /** What was charged in all, less refunds, micro-USD; undefined while more is uncounted than can be in one go. */
  revenue(): Promise<MicroUsd | undefined>;
  /** Newest first. @throws ToolgateError INVALID_REQUEST for a cursor that is none of ours */
  failedPayments(query: { limit: number; cursor: string | undefined }): Promise<Page<FailedPayment>>;
}
