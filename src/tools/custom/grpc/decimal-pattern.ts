/**
 * A regular expression, without anchors, for whole numbers from 1 to `most` as JSON writes them: no sign, no leading zeros. JSON Schema has
 * no other way to bound numbers in strings, as which protobuf writes 64-bit integers and keys of maps.
 */
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

/** Anchored: whole numbers from `least` (0 or less) to `most`. */
export function integerPattern(least: bigint, most: bigint): string {
  const negative = least < 0n ? `|-${positiveUpTo(-least)}` : "";
  return `^(?:0|${positiveUpTo(most)}${negative})$`;
}

function anyDigits(least: number, most = least): string {
  if (most === 0) return "";
  return least === most ? `[0-9]{${most}}` : `[0-9]{${least},${most}}`;
}
