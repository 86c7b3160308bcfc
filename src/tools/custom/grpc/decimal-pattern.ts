/** Returns a pattern for integers from 1 to `most`: ProtoJSON writes 64-bit integers as strings. */
export function positiveUpTo(most: bigint): string {
  const digits = most.toString();
  const { length } = digits;
  const shorter = length > 1 ? [`[1-9]${anyDigits(0, length - 2)}`] : [];
  const smaller = digits.split("").flatMap((digit, at) => {
    const [least, below] = [at === 0 ? 1 : 0, Number(digit) - 1];
    if (below < least) return [];
    return [`${digits.slice(0, at)}[${least}-${below}]${anyDigits(length - 1 - at)}`];
  });
  return `(?:${[...shorter, ...smaller, digits].join("|")})`;
}

/** Returns an anchored pattern for integers from `least` (at most 0) to `most`. */
export function integerPattern(least: bigint, most: bigint): string {
  const negative = least < 0n ? `|-${positiveUpTo(-least)}` : "";
  return `^(?:0|${positiveUpTo(most)}${negative})$`;
}

function anyDigits(least: number, most = least): string {
  if (most === 0) return "";
  return least === most ? `[0-9]{${most}}` : `[0-9]{${least},${most}}`;
}
