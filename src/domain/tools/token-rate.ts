import type { MicroUsd } from "../core/money.ts";

/**
 * Price of one token in billionths of a micro-USD. USD per million tokens equals micro-USD per token, so
 * published prices keep nine decimal places exactly.
 */
export type TokenRate = bigint;

const RATE_SCALE = 1_000_000_000n;
const DECIMAL_RATE = /^(\d{1,6})(?:\.(\d{1,9}))?$/;

/**
 * Parses USD per million tokens, e.g. "0.2" or "15.00": at most six digits before and nine after the point;
 * undefined if invalid.
 */
export function parseTokenRate(usdPerMillion: string): TokenRate | undefined {
  const match = DECIMAL_RATE.exec(usdPerMillion);
  if (!match) return undefined;
  return BigInt(match[1] ?? "0") * RATE_SCALE + BigInt((match[2] ?? "").padEnd(9, "0"));
}

/** Formats a rate as {@link parseTokenRate} reads it, e.g. "0.2". */
export function formatTokenRate(rate: TokenRate): string {
  const digits = (rate % RATE_SCALE).toString().padStart(9, "0").replace(/0+$/, "");
  return digits === "" ? `${rate / RATE_SCALE}` : `${rate / RATE_SCALE}.${digits}`;
}

export interface PricedTokens {
  /** A whole number. */
  readonly tokens: number;
  readonly rate: TokenRate;
}

/** Returns the total price in micro-USD, rounded up once; at least 1. */
export function priceOfTokens(...parts: readonly PricedTokens[]): MicroUsd {
  const exact = parts.reduce((sum, part) => sum + BigInt(part.tokens) * part.rate, 0n);
  const rounded = (exact + RATE_SCALE - 1n) / RATE_SCALE;
  return rounded > 0n ? rounded : 1n;
}
