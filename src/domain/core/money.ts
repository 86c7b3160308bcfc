/** Millionths of a USD, equal to base units of USDC (6 decimals). Never a float. */
export type MicroUsd = bigint;

/** The largest amount that JSON represents exactly (2^53 - 1 micro-USD, about nine billion USD). */
export const MAX_MICRO_USD: MicroUsd = BigInt(Number.MAX_SAFE_INTEGER);

const DECIMAL_USDC = /^(\d{1,10})(?:\.(\d{1,6}))?$/;

/**
 * Parses decimal USDC such as "0.01" or "5.000000" (specification 2.4); undefined if invalid or too large.
 */
export function parseUsdc(text: string): MicroUsd | undefined {
  const match = DECIMAL_USDC.exec(text);
  if (!match) return undefined;
  const amount = BigInt(match[1] ?? "0") * 1_000_000n + BigInt((match[2] ?? "").padEnd(6, "0"));
  return amount <= MAX_MICRO_USD ? amount : undefined;
}

/** Formats decimal USDC with six places, e.g. 10_000n -> "0.010000" (specification 2.2, `balance_usdc`). */
export function formatUsdc(amount: MicroUsd): string {
  const sign = amount < 0n ? "-" : "";
  const digits = (amount < 0n ? -amount : amount).toString().padStart(7, "0");
  return `${sign}${digits.slice(0, -6)}.${digits.slice(-6)}`;
}

/** Formats a price for display: "$0.01", "$0.0024"; at least cents (specification 2.3, `price_display`). */
export function displayUsd(amount: MicroUsd): string {
  const text = formatUsdc(amount).replace(/0{1,4}$/, "");
  return text.startsWith("-") ? `-$${text.slice(1)}` : `$${text}`;
}
