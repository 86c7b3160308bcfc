import type { MicroUsd } from "../../domain/core/money.ts";
import type { Page } from "../../domain/core/page.ts";
import type { FailedPayment } from "./failed-payments.ts";

/** Calls of all instances within one minute. */
export interface CallMinute {
  start: Date;
  completed: number;
  /** Failed or cancelled. */
  failed: number;
  /** Micro-USD. */
  charged: MicroUsd;
}

/** Database queries of the operations service. */
export interface OperationsQueries {
  /** Active runs, and liabilities: the sum of balances and open holds, micro-USD. */
  figures(): Promise<{ activeRuns: number; liabilities: MicroUsd }>;
  /** The last 60 minutes, oldest first. */
  minutes(): Promise<CallMinute[]>;
  /** Total charges minus refunds, micro-USD; undefined while the backlog is too large for one query. */
  revenue(): Promise<MicroUsd | undefined>;
  /** Newest first. @throws ToolgateError INVALID_REQUEST for an invalid cursor */
  failedPayments(query: { limit: number; cursor: string | undefined }): Promise<Page<FailedPayment>>;
}
