/** An amount: micro-USD as a bigint, or decimal USDC as a string, e.g. `"0.25"`. */
export type Usdc = bigint | string;

const DECIMAL = /^(\d{1,12})(?:\.(\d{1,6}))?$/;

/** Micro-USD; `name` is the option. @throws TypeError unless a text with up to six decimals: no floats */
export function microUsd(amount: Usdc, name: string): bigint {
  if (typeof amount === "bigint") {
    if (amount < 0n) throw new TypeError(`${name}: must not be negative`);
    return amount;
  }
  const [, whole, fraction = ""] = DECIMAL.exec(amount) ?? [];
  if (whole === undefined) {
    throw new TypeError(
      `${name}: must be decimal USDC with at most six places, e.g. "0.25", or micro-USD as a bigint`,
    );
  }
  return BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, "0"));
}

/** Decimal USDC with six places. */
export function decimalUsdc(amount: bigint): string {
  const digits = amount.toString().padStart(7, "0");
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
}
