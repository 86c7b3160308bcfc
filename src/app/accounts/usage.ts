import type { ErrorCode } from "../../domain/core/errors.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { Latency } from "../../domain/calls/latency.ts";

export interface Usage {
  charged: bigint;
  /** Without subtracting refunds. */
  spent: MicroUsd;
  failed: bigint;
}

/** What a chart is stacked by; outcome: success, or the error code of a failure. */
export type UsageDimension = "tool" | "key" | "model" | "outcome";

/** Usage over time of one tool, key, model or outcome. */
export interface UsageSeries {
  /** A tool, `key_…`, a model, or an error code; empty: none. Undefined: all others together. */
  value: string | undefined;
  /** One per bucket of the report. */
  usage: Usage[];
}

/** Usage within an interval; each list adds up to `total`. */
export interface UsageReport {
  /** One per hour or day, oldest first, including empty ones; latency of charged calls. */
  buckets: { start: Date; usage: Usage; latency: Latency | undefined }[];
  /** Highest spending first, the others last; empty without a dimension. */
  series: UsageSeries[];
  /** Highest spending first. */
  tools: { tool: string; usage: Usage }[];
  /** Highest spending first; undefined key: from before keys were recorded. */
  keys: { keyId: string | undefined; name: string; usage: Usage }[];
  /** Highest spending first; empty model: calls without one. */
  models: { model: string; usage: Usage }[];
  /** Most frequent first. */
  failures: { code: ErrorCode; calls: bigint }[];
  total: Usage;
}

export interface UsageQuery {
  accountId: string;
  /** Rounded down to its hour or day. */
  from: Date;
  /** Exclusive; undefined: now. */
  to: Date | undefined;
  hourly: boolean;
  /** Days and hours are those of this zone (IANA time zone database). Default: UTC. */
  timeZone?: string | undefined;
  /** Undefined: no series. */
  by?: UsageDimension | undefined;
  tool: string | undefined;
  /** `key_…` */
  keyId: string | undefined;
  model?: string | undefined;
}

export interface UsageReports {
  /** @throws ToolgateError INVALID_REQUEST for an empty or too long interval, or an unknown zone */
  usage(query: UsageQuery): Promise<UsageReport>;
}
