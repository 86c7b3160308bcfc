import type { ErrorCode } from "../../domain/core/errors.ts";
import type { MicroUsd } from "../../domain/core/money.ts";

export interface Usage {
  charged: bigint;
  /** Without subtracting refunds. */
  spent: MicroUsd;
  failed: bigint;
}

/** Usage within an interval; each list adds up to `total`. */
export interface UsageReport {
  /** One per hour or day, oldest first, including empty ones. */
  buckets: { start: Date; usage: Usage }[];
  /** Highest spending first. */
  tools: { tool: string; usage: Usage }[];
  /** Highest spending first; undefined key: from before keys were recorded. */
  keys: { keyId: string | undefined; name: string; usage: Usage }[];
  /** Most frequent first. */
  failures: { code: ErrorCode; calls: bigint }[];
  total: Usage;
}

export interface UsageQuery {
  accountId: string;
  /** Rounded down to its hour or day, UTC. */
  from: Date;
  /** Exclusive; undefined: now. */
  to: Date | undefined;
  hourly: boolean;
  tool: string | undefined;
  /** `key_…` */
  keyId: string | undefined;
}

export interface UsageReports {
  /** @throws ToolgateError INVALID_REQUEST for an empty or too long interval */
  usage(query: UsageQuery): Promise<UsageReport>;
}
