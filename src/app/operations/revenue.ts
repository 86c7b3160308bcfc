import type { MicroUsd } from "../../domain/core/money.ts";

export interface AccountRevenue {
  readonly accountId: string;
  readonly calls: bigint;
  readonly charged: MicroUsd;
  /** Refunded in the period, whenever it was charged. */
  readonly refunded: MicroUsd;
}

export interface ModelMargin {
  /** Empty: calls without a model. */
  readonly model: string;
  readonly calls: bigint;
  readonly charged: MicroUsd;
  /** The part of {@link charged} whose {@link cost} is known. */
  readonly costed: MicroUsd;
  readonly cost: MicroUsd;
}

/** Charges of a period. */
export interface RevenueReport {
  /** The hundred highest, highest first. */
  readonly accounts: readonly AccountRevenue[];
  /** The hundred highest, highest first. */
  readonly models: readonly ModelMargin[];
  readonly calls: bigint;
  readonly charged: MicroUsd;
  readonly refunded: MicroUsd;
  /** Accounts that were charged. */
  readonly accountCount: bigint;
}

export interface RevenueReports {
  /** @throws ToolgateError INVALID_REQUEST for an empty period or one of more than 366 days */
  revenue(period: { from: Date; to: Date | undefined }): Promise<RevenueReport>;
}
