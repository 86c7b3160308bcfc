import { hash } from "node:crypto";
import { isRequestBodies } from "../../domain/accounts/caller.ts";
import type { AccessLimits, RateTier, RequestLogSettings } from "../../domain/accounts/caller.ts";

/**
 * Returns the stored form of a key: SHA-256 in hex, the cheapest form per call. Keys have 256 random bits, so
 * a plain hash cannot be reversed, and lookup timing reveals only hashes.
 */
export function hashOf(secret: string): string {
  return hash("sha256", secret, "hex");
}

/** Limits of single calls as stored in `api_key`; null means unlimited. */
interface KeyLimitsRow {
  expiresAt?: Date | null | undefined;
  callLimit?: bigint | null | undefined;
  tools?: string[] | null | undefined;
}

/** Limits of a stored key; undefined when it has none. */
export function limitsOf({ expiresAt, callLimit, tools }: KeyLimitsRow): AccessLimits | undefined {
  const limits = {
    expiresAt: expiresAt ?? undefined,
    perCall: callLimit ?? undefined,
    tools: tools ? new Set(tools) : undefined,
  };
  return Object.values(limits).some((limit) => limit !== undefined) ? limits : undefined;
}

export function limitsRow(limits: AccessLimits | undefined): Required<KeyLimitsRow> {
  return {
    expiresAt: limits?.expiresAt ?? null,
    callLimit: limits?.perCall ?? null,
    tools: limits?.tools ? [...limits.tools] : null,
  };
}

/** Rate limits in the view `account_limits`. */
export interface LimitsRow {
  rate_per_minute: number;
  burst: number;
  account_rate_per_minute: number;
  account_burst: number;
}

export function rateLimitsOf(row: LimitsRow): { tier: RateTier; accountTier: RateTier } {
  return {
    tier: { ratePerMinute: row.rate_per_minute, burst: row.burst },
    accountTier: { ratePerMinute: row.account_rate_per_minute, burst: row.account_burst },
  };
}

/** Settings of an account's log of requests in the view `account_limits`. */
export interface RequestLogRow {
  request_bodies: string;
  request_hours: number;
}

export function requestLogOf(row: RequestLogRow): RequestLogSettings | undefined {
  const { request_bodies: bodies, request_hours: hours } = row;
  return isRequestBodies(bodies) ? { bodies, hours } : undefined;
}
