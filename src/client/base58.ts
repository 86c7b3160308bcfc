// Bitcoin's alphabet, as Solana writes addresses, blockhashes and signatures.
const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/** Characters of 64 bytes, the longest value that is read. */
const MAX_LENGTH = 88;

export function toBase58(bytes: Uint8Array): string {
  let number = 0n;
  for (const byte of bytes) number = number * 256n + BigInt(byte);
  let text = "";
  for (; number > 0n; number /= 58n) text = (ALPHABET[Number(number % 58n)] ?? "") + text;
  return "1".repeat(leading(bytes, 0)) + text;
}

/** Decodes at most 64 bytes; undefined if invalid. */
export function fromBase58(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  let number = 0n;
  for (const character of text) {
    const digit = ALPHABET.indexOf(character);
    if (digit === -1) return undefined;
    number = number * 58n + BigInt(digit);
  }
  const bytes: number[] = [];
  for (; number > 0n; number >>= 8n) bytes.unshift(Number(number & 0xffn));
  return Uint8Array.from([...Array<number>(leading(Array.from(text), "1")).fill(0), ...bytes]);
}

/** How many of the first values equal `value`. */
function leading<Value>(values: Readonly<ArrayLike<Value>>, value: Value): number {
  let count = 0;
  while (count < values.length && values[count] === value) count += 1;
  return count;
}
