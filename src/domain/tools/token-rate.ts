import type { MicroUsd } from "../core/money.ts";

/**
 * The price of one token in billionths of a micro-USD. One USD per million tokens is one micro-USD per token,
 * so the published "USD per million tokens" keeps nine decimal places here, exactly.
 */
export type TokenRate = bigint;

const RATE_SCALE = 1_000_000_000n;
const DECIMAL_RATE = /^(\d{1,6})(?:\.(\d{1,9}))?$/;

/** Reads USD per million tokens, e.g. "0.2" or "15.00": at most six digits before and nine after the point; undefined when it is not that. */
export function parseTokenRate(usdPerMillion: string): TokenRate | undefined {
  const match = DECIMAL_RATE.exec(usdPerMillion);
  if (!match) return undefined;
  return BigInt(match[1] ?? "0") * RATE_SCALE + BigInt((match[2] ?? "").padEnd(9, "0"));
}

/** A rate as USD per million tokens, e.g. "0.2": what {@link parseTokenRate} reads, without superfluous zeros. */
export function formatTokenRate(rate: TokenRate): string {
  const digits = (rate % RATE_SCALE).toString().padStart(9, "0").replace(/0+$/, "");
  return digits === "" ? `${rate / RATE_SCALE}` : `${rate / RATE_SCALE}.${digits}`;
}

/** Tokens at a rate. */
export interface PricedTokens {
  /** A whole number of tokens. */
  readonly tokens: number;
  readonly rate: TokenRate;
}

/** What the tokens cost together, in micro-USD, rounded up once over the sum; a call is never free: at least 1 micro-USD. */
export function priceOfTokens(...parts: readonly PricedTokens[]): MicroUsd {
  const exact = parts.reduce((sum, part) => sum + BigInt(part.tokens) * part.rate, 0n);
  const rounded = (exact + RATE_SCALE - 1n) / RATE_SCALE;
  return rounded > 0n ? rounded : 1n;
}
