const SIGNATURE = 64;
const ADDRESS = 32;

/** Adds a signature to a transaction, in the order of its addresses. @throws Error unless it is required */
export async function addSignature(
  transaction: Uint8Array,
  publicKey: Uint8Array,
  sign: (message: Uint8Array) => Promise<Uint8Array>,
): Promise<Uint8Array> {
  const [count, start] = readCompactU16(transaction, 0);
  const message = transaction.slice(start + count * SIGNATURE);
  // A versioned message starts with a byte whose highest bit is set.
  const header = ((message[0] ?? 0) & 0x80) === 0 ? 0 : 1;
  const signers = message[header] ?? 0;
  const [, addresses] = readCompactU16(message, header + 3);
  for (let index = 0; index < Math.min(signers, count); index += 1) {
    const address = message.subarray(addresses + index * ADDRESS, addresses + (index + 1) * ADDRESS);
    if (!address.every((byte, at) => byte === publicKey[at])) continue;
    const signed = transaction.slice();
    signed.set(await sign(message), start + index * SIGNATURE);
    return signed;
  }
  throw new Error("the account is not a signer of the transaction");
}

/** Reads a compact-u16: one to three bytes of seven bits each. */
function readCompactU16(bytes: Uint8Array, at: number): [length: number, end: number] {
  let length = 0;
  for (let index = 0; index < 3; index += 1) {
    const byte = bytes[at + index] ?? 0;
    length |= (byte & 0x7f) << (7 * index);
    if ((byte & 0x80) === 0) return [length, at + index + 1];
  }
  return [length, at + 3];
}
