import type { MicroUsd } from "../../domain/core/money.ts";
import type { TokenRate } from "../../domain/tools/token-rate.ts";

/** Billionths of a unit. */
const SCALE = 1_000_000_000n;

/** More are absurd. */
const MAX_UNITS = 10n ** 15n;

const DECIMAL = /^ *(\d{1,16})(?:\.(\d{1,18}))? *$/;

/**
 * Returns a metered value in billionths of a unit; undefined for anything but a number, or the text of one,
 * from 0 to 10^15.
 */
export function unitsOf(value: unknown): bigint | undefined {
  const units = exactUnits(value);
  return units !== undefined && units >= 0n && units <= MAX_UNITS * SCALE ? units : undefined;
}

function exactUnits(value: unknown): bigint | undefined {
  if (typeof value === "bigint") return value * SCALE;
  // Decimal digits: NaN, infinities, negative numbers and those with an exponent do not match.
  const text = typeof value === "number" ? value.toFixed(9) : value;
  const match = typeof text === "string" ? DECIMAL.exec(text) : null;
  if (!match) return undefined;
  const [, whole = "0", digits = ""] = match;
  const rest = /[1-9]/.test(digits.slice(9)) ? 1n : 0n;
  return BigInt(whole) * SCALE + BigInt(digits.slice(0, 9).padEnd(9, "0")) + rest;
}

/** Returns the charge of metered units, micro-USD, rounded up. */
export function chargeOfUnits(units: bigint, microUsdPerUnit: TokenRate): MicroUsd {
  return (units * microUsdPerUnit + SCALE * SCALE - 1n) / (SCALE * SCALE);
}
