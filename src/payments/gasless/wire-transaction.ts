import { RELAY_REFUSALS, relayRefused, unreadableTransaction } from "../../domain/payments/relay-refusal.ts";
import { ByteReader, malformed } from "./byte-reader.ts";

/** Largest transaction that a packet of the network carries, bytes. */
const LARGEST = 1_232;
const [SIGNATURE, KEY] = [64, 32];
/** Set in the first byte of a message that has a version; the rest of the byte is the version. */
const VERSIONED = 0x80;

/** One instruction; accounts and program are numbers into {@link WireTransaction.keys}. */
export interface WireInstruction {
  readonly program: number;
  readonly accounts: readonly number[];
  readonly data: Buffer;
}

/** A legacy or version 0 transaction without lookup tables, read from its bytes. */
export interface WireTransaction {
  /** One per required signer, in the order of the keys. */
  readonly signatures: readonly Buffer[];
  /** What is signed. */
  readonly message: Buffer;
  /** Signers whose accounts are only read, of the first keys the last ones. */
  readonly readonlySigned: number;
  /** Other accounts that are only read: the last of all keys. */
  readonly readonlyUnsigned: number;
  /** Every account, each once. */
  readonly keys: readonly Buffer[];
  readonly blockhash: Buffer;
  readonly instructions: readonly WireInstruction[];
}

/**
 * Reads a transaction as the network does: no byte more or less than it needs, each length in its shortest form, every number within
 * its bounds. Messages that are read have exactly one encoding, so that their hash names them.
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
      "the transaction takes accounts from address lookup tables, whose contents can change; build it without lookup tables",
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

/** Version 1 has its marker at the very beginning, version 0 (`known`) at the beginning of the message. */
function refuseVersion(marker: number | undefined, known?: number): void {
  if (marker === undefined || marker < VERSIONED || marker === known) return;
  throw unreadableTransaction(
    RELAY_REFUSALS.TRANSACTION_VERSION,
    `transactions of version ${marker & 0x7f} are not relayed here; build a legacy transaction or one of version 0`,
  );
}
