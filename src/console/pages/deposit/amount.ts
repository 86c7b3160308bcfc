import { formatUsd } from "../../format.ts";

/** A parsed amount in micro-USD, or an error message. */
export type ParsedAmount = { readonly microUsd: bigint } | { readonly problem: string };

/** Smallest and largest amount, micro-USD. */
export type AmountRange = readonly [min: bigint, max: bigint];

/** Limits of a deposit (CreateDepositRequest). */
const DEPOSIT_RANGE: AmountRange = [10_000n, 1_000_000_000_000n];

/** Preset amounts, micro-USD. */
export const PRESETS: readonly bigint[] = [5_000_000n, 10_000_000n, 25_000_000n, 100_000_000n];

const INVALID = "Enter an amount, such as 25 or 12.50.";
const DECIMAL = /^(\d*)(?:\.(\d*))?$/;

/** Parses an amount of USDC without floats. Rejects commas: they are decimal points in some countries. */
export function parseAmount(text: string, range = DEPOSIT_RANGE): ParsedAmount {
  const digits = text.trim().replace(/^\$/, "").trim();
  if (digits === "") return { problem: INVALID };
  if (digits.includes(",")) return { problem: "Use a decimal point and no commas, such as 1250.50." };
  if (digits.startsWith("-")) return { problem: "Enter a positive amount." };
  const match = DECIMAL.exec(digits);
  const [, whole = "", fraction = ""] = match ?? [];
  if (match === null || whole + fraction === "") return { problem: INVALID };
  if (fraction.length > 6) return { problem: "USDC has at most six decimals." };
  return checkRange(BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, "0")), range);
}

function checkRange(microUsd: bigint, [min, max]: AmountRange): ParsedAmount {
  if (microUsd < min) return { problem: `Minimum ${formatUsd(min)}.` };
  if (microUsd > max) return { problem: `Maximum ${formatUsd(max).replace(/\.00$/, "")}.` };
  return { microUsd };
}
