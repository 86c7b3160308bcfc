/** A parsed amount in micro-USD, or an error message. */
export type ParsedAmount = { readonly microUsd: bigint } | { readonly problem: string };

/** Limits of a deposit, micro-USD (CreateDepositRequest). */
const MIN_DEPOSIT = 10_000n;
const MAX_DEPOSIT = 1_000_000_000_000n;

/** Preset amounts, micro-USD. */
export const PRESETS: readonly bigint[] = [5_000_000n, 10_000_000n, 25_000_000n, 100_000_000n];

const DECIMAL = /^(\d*)(?:\.(\d*))?$/;

/** Parses an amount of USDC without floats. Rejects commas: they are decimal points in some countries. */
export function parseAmount(text: string): ParsedAmount {
  const digits = text.trim().replace(/^\$/, "").trim();
  if (digits === "") return { problem: "Say how much USDC to deposit." };
  if (digits.includes(","))
    return { problem: "Write it without commas and with a decimal point, like 1250.50" };
  if (digits.startsWith("-")) return { problem: "A deposit is more than nothing." };
  const match = DECIMAL.exec(digits);
  const [, whole = "", fraction = ""] = match ?? [];
  if (match === null || whole + fraction === "")
    return { problem: "That is no amount. Write it like 25 or 12.50" };
  if (fraction.length > 6) return { problem: "USDC has six decimals, not more." };
  return checkRange(BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, "0")));
}

function checkRange(microUsd: bigint): ParsedAmount {
  if (microUsd < MIN_DEPOSIT) return { problem: "The least is 0.01 USDC." };
  if (microUsd > MAX_DEPOSIT) return { problem: "The most is 1,000,000 USDC at once." };
  return { microUsd };
}
