import type { ErrorCode } from "../../domain/core/errors.ts";
import type { MicroUsd } from "../../domain/core/money.ts";

/** Calls and what they cost. */
export interface Usage {
  charged: bigint;
  /** Refunds are not taken off. */
  spent: MicroUsd;
  failed: bigint;
}

/** What was used in a span of time; each list adds up to `total`. */
export interface UsageReport {
  /** One for each hour or day, oldest first, also where nothing was used. */
  buckets: { start: Date; usage: Usage }[];
  /** Most spent first. */
  tools: { tool: string; usage: Usage }[];
  /** Most spent first; undefined: from before keys were recorded. */
  keys: { keyId: string | undefined; name: string; usage: Usage }[];
  /** Most first. */
  failures: { code: ErrorCode; calls: bigint }[];
  total: Usage;
}

/** Of which calls. */
export interface UsageQuery {
  accountId: string;
  /** Is moved back to the beginning of its hour or day, UTC. */
  from: Date;
  /** Not included; now when undefined. */
  to: Date | undefined;
  hourly: boolean;
  tool: string | undefined;
  /** `key_…` */
  keyId: string | undefined;
}

/** Adds up what was spent. */
export interface UsageReports {
  /** @throws ToolgateError INVALID_REQUEST for a span that is empty or too long */
  usage(query: UsageQuery): Promise<UsageReport>;
}
