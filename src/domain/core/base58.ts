// Written by hand: with @scure/base a 402, whose quote id is long, costs 14 % more CPU time.

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

/**
 * Powers of one base in digits of the other, lowest first: a conversion is then a sum, with carries once at
 * the end.
 */
const WORDS_IN_LIMBS = powers(WORD, LIMB);
const LIMBS_IN_WORDS = powers(LIMB, WORD);
/** Two characters by their value, as the number that their bytes are in memory. */
const PAIRS = new Uint16Array(
  Uint8Array.from(ALPHABET.flatMap((first) => ALPHABET.flatMap((second) => [codeOf(first), codeOf(second)])))
    .buffer,
);
const VALUES = new Int8Array(128).fill(-1);
for (const [value, character] of ALPHABET.entries()) VALUES[codeOf(character)] = value;

/** Reused by all conversions. */
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
    limbs = add(word, WORDS_IN_LIMBS[index]);
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
  const ones = leadingOnes(text);
  let words = 0;
  sums.fill(0);
  for (let end = text.length, index = 0; end > ones; end -= CHARACTERS, index++) {
    let limb = 0;
    for (let at = Math.max(ones, end - CHARACTERS); at < end; at++) {
      const value = VALUES[text.charCodeAt(at)] ?? -1;
      if (value < 0) return undefined;
      limb = limb * 58 + value;
    }
    words = add(limb, LIMBS_IN_WORDS[index]);
  }
  const bytes = Buffer.alloc(ones + (words + 1) * BYTES);
  let end = bytes.length;
  let carry = 0;
  for (let index = 0; index < words || carry > 0; index++) {
    const sum = (sums[index] ?? 0) + carry;
    carry = Math.floor(sum / WORD);
    const word = (sum - carry * WORD) | 0;
    bytes[--end] = word;
    bytes[--end] = word >> 8;
    bytes[--end] = word >> 16;
  }
  return bytes.subarray(leadingZeros(bytes) - ones);
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

/** Adds a multiple of a power to the sums. @returns the number of digits of the power */
function add(digit: number, power: Float64Array | undefined): number {
  if (!power) throw new RangeError("too long for base58");
  const { length } = power;
  for (let index = 0; index < length; index++) sums[index] = (sums[index] ?? 0) + digit * (power[index] ?? 0);
  return length;
}

function powers(base: number, digitBase: number): readonly Float64Array[] {
  let power = [1];
  return Array.from({ length: MOST }, () => {
    const made = Float64Array.from(power);
    let carry = 0;
    power = power.map((digit) => {
      const product = digit * base + carry;
      carry = Math.floor(product / digitBase);
      return product - carry * digitBase;
    });
    for (; carry > 0; carry = Math.floor(carry / digitBase)) power.push(carry % digitBase);
    return made;
  });
}

function codeOf(character: string): number {
  return character.charCodeAt(0);
}

function leadingZeros(bytes: Uint8Array): number {
  let zeros = 0;
  while (bytes[zeros] === 0) zeros++;
  return zeros;
}

function leadingOnes(text: string): number {
  let ones = 0;
  while (text.charCodeAt(ones) === ZERO_CODE) ones++;
  return ones;
}
