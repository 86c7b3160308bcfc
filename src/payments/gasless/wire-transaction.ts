import { RELAY_REFUSALS, relayRefused, unreadableTransaction } from "../../domain/payments/relay-refusal.ts";
import type { ToolgateError } from "../../domain/core/errors.ts";

/** Maximum size of a network packet, bytes. */
const LARGEST = 1_232;
const [SIGNATURE, KEY] = [64, 32];
/** Set in the first byte of a versioned message; the other bits are the version. */
const VERSIONED = 0x80;

/** Accounts and program are indices into {@link WireTransaction.keys}. */
export interface WireInstruction {
  readonly program: number;
  readonly accounts: readonly number[];
  readonly data: Buffer;
}

/** A parsed legacy or version 0 transaction without lookup tables. */
export interface WireTransaction {
  /** One per signer, in key order. */
  readonly signatures: readonly Buffer[];
  /** The signed bytes. */
  readonly message: Buffer;
  /** Number of read-only signers, the last of the signers. */
  readonly readonlySigned: number;
  /** Number of other read-only accounts, the last of all keys. */
  readonly readonlyUnsigned: number;
  /** All accounts, without duplicates. */
  readonly keys: readonly Buffer[];
  readonly blockhash: Buffer;
  readonly instructions: readonly WireInstruction[];
}

/**
 * Parses a transaction as strictly as the network: no extra bytes, shortest lengths, indices in bounds. A
 * message has exactly one encoding, so its hash identifies it.
 * @throws ToolgateError INVALID_PAYMENT 400; 402 for lookup tables
 */
export function readTransaction(bytes: Uint8Array): WireTransaction {
  if (bytes.length > LARGEST) {
    const problem = `the transaction has ${bytes.length} bytes, and the network carries ${LARGEST}`;
    throw unreadableTransaction(
      RELAY_REFUSALS.TRANSACTION_TOO_LARGE,
      `${problem}; build it without anything but the payment`,
    );
  }
  const wire = Buffer.from(bytes);
  const reader = new ByteReader(wire);
  refuseVersion(reader.peek());
  const signatures = Array.from({ length: reader.compactU16() }, () => reader.take(SIGNATURE));
  const message = wire.subarray(reader.position);
  return { signatures, message, ...readMessage(reader, signatures.length) };
}

function readMessage(
  reader: ByteReader,
  signatures: number,
): Omit<WireTransaction, "signatures" | "message"> {
  const first = reader.peek() ?? 0;
  refuseVersion(first, VERSIONED);
  const versioned = first >= VERSIONED;
  if (versioned) reader.byte();

  const [required, readonlySigned, readonlyUnsigned] = [reader.byte(), reader.byte(), reader.byte()];
  const keys = Array.from({ length: reader.compactU16() }, () => reader.take(KEY));
  if (required !== signatures) throw malformed(`it has ${signatures} signatures and asks for ${required}`);
  if (required === 0 || readonlySigned >= required) throw malformed("nobody signs who could pay the fee");
  if (required + readonlyUnsigned > keys.length)
    throw malformed("its header counts more accounts than it names");
  if (new Set(keys.map((key) => key.toString("latin1"))).size < keys.length)
    throw malformed("it names an account twice");

  const blockhash = reader.take(KEY);
  const instructions = Array.from({ length: reader.compactU16() }, () => readInstruction(reader));
  const lookups = versioned ? reader.compactU16() : 0;
  if (lookups > 0) {
    throw relayRefused(
      RELAY_REFUSALS.LOOKUP_TABLES,
      "the transaction takes accounts from address lookup tables, whose contents can change; build it " +
        "without lookup tables",
    );
  }
  if (!reader.atEnd) throw malformed("something follows its end");
  for (const { program, accounts } of instructions) {
    if (program === 0) throw malformed("an instruction has the fee payer as its program");
    if ([program, ...accounts].some((number) => number >= keys.length)) {
      throw malformed("an instruction names an account that is not there");
    }
  }
  return { readonlySigned, readonlyUnsigned, keys, blockhash, instructions };
}

function readInstruction(reader: ByteReader): WireInstruction {
  const program = reader.byte();
  const accounts = [...reader.take(reader.compactU16())];
  return { program, accounts, data: reader.take(reader.compactU16()) };
}

/** Version 1 is marked in the first byte, version 0 (`known`) in the first byte of the message. */
function refuseVersion(marker: number | undefined, known?: number): void {
  if (marker === undefined || marker < VERSIONED || marker === known) return;
  throw unreadableTransaction(
    RELAY_REFUSALS.TRANSACTION_VERSION,
    `transactions of version ${marker & 0x7f} are not relayed here; build a legacy transaction or one ` +
      "of version 0",
  );
}

/** Reads a transaction and rejects bytes that another parser could read differently. */
class ByteReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Number of bytes read. */
  get position(): number {
    return this.#at;
  }

  get atEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  byte(): number {
    return this.take(1).readUInt8();
  }

  /** Returns the next byte without consuming it; undefined at the end. */
  peek(): number | undefined {
    return this.#bytes[this.#at];
  }

  take(length: number): Buffer {
    if (this.#at + length > this.#bytes.length) throw malformed("it ends too early");
    const taken = this.#bytes.subarray(this.#at, this.#at + length);
    this.#at += length;
    return taken;
  }

  /**
   * Reads a compact-u16: seven bits per byte, least significant first, at most three bytes. Like the chain,
   * rejects forms that are longer than needed: a message has one encoding only.
   */
  compactU16(): number {
    let value = 0;
    for (let index = 0; index < 3; index++) {
      const byte = this.byte();
      if (index > 0 && byte === 0) throw malformed("a length is not written in its shortest form");
      value |= (byte & 0x7f) << (7 * index);
      if (byte < 0x80) return value;
    }
    throw malformed("a length takes more than three bytes");
  }
}

function malformed(problem: string): ToolgateError {
  return unreadableTransaction(
    RELAY_REFUSALS.TRANSACTION_MALFORMED,
    `these bytes are no Solana transaction (${problem}); send the signed transaction as the wallet ` +
      "serialized it, unchanged",
  );
}
