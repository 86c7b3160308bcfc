/** What a person typed as an amount: micro-USD, or what is wrong with it and what to do. */
export type ParsedAmount = { readonly microUsd: bigint } | { readonly problem: string };

/** The least and the most that a deposit may be, micro-USD (CreateDepositRequest). */
const MIN_DEPOSIT = 10_000n;
const MAX_DEPOSIT = 1_000_000_000_000n;

/** Offered with one press, micro-USD. */
export const PRESETS: readonly bigint[] = [5_000_000n, 10_000_000n, 25_000_000n, 100_000_000n];

const DECIMAL = /^(\d*)(?:\.(\d*))?$/;

/**
 * Reads an amount of USDC exactly: text to micro-USD, no float between. A comma is refused, because half of the world means a decimal point
 * by it and the other half thousands.
 */
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
