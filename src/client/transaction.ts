import { addressBytes, TOKEN_PROGRAM, tokenAccountOf } from "./address.ts";
import { toBase58 } from "./base58.ts";

const MEMO_PROGRAM = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr";
const COMPUTE_BUDGET_PROGRAM = "ComputeBudget111111111111111111111111111111";
const USDC_DECIMALS = 6;
const SIGNATURE_LENGTH = 64;
const ADDRESS_LENGTH = 32;

/** Requested compute units: enough for a transfer and a memo, within a gateway's limit. */
const COMPUTE_UNIT_LIMIT = 40_000;
/** Without a memo, a random part of the limit keeps equal payments apart. */
const RANDOM_UNITS = 8192;

/** A payment to build. Addresses and the blockhash are base58. */
export interface PaymentOrder {
  readonly payer: string;
  /** The chain's fee payer: the payer, or the gateway's fee payer. */
  readonly feePayer: string;
  /** Token account. */
  readonly payTo: string;
  readonly mint: string;
  /** micro-USD */
  readonly amount: bigint;
  readonly memo: string | undefined;
  readonly blockhash: string;
  /** Micro-lamports per compute unit. */
  readonly computeUnitPrice: bigint;
}

/** A transaction: its message, and one signature of 64 bytes for each signer, zeros where it is missing. */
export interface Transaction {
  readonly message: Uint8Array<ArrayBuffer>;
  readonly signatures: readonly Uint8Array<ArrayBuffer>[];
}

/** What the client reads from the message of another party. */
export interface ReadMessage {
  /** Base58. */
  readonly blockhash: string;
  /** Data of the instructions, in their order. */
  readonly data: readonly Uint8Array[];
}

/** The unsigned transaction of a payment, key by key, in the order of x402's exact scheme on Solana. */
export function buildPayment(order: PaymentOrder): Transaction & { readonly slot: number } {
  const { payer, feePayer, mint, payTo, memo } = order;
  const signers = feePayer === payer ? [payer] : [feePayer, payer];
  const source = tokenAccountOf(payer, mint);
  const programs = memo === undefined ? [TOKEN_PROGRAM] : [TOKEN_PROGRAM, MEMO_PROGRAM];
  const readOnly = [mint, ...programs, COMPUTE_BUDGET_PROGRAM];
  const keys = [...signers, source, payTo, ...readOnly];
  const instruction = (program: string, accounts: readonly string[], data: Uint8Array): number[] => [
    keys.indexOf(program),
    ...counted(accounts.map((account) => keys.indexOf(account))),
    ...counted([...data]),
  ];
  const units = COMPUTE_UNIT_LIMIT + (memo === undefined ? Math.floor(Math.random() * RANDOM_UNITS) : 0);
  const instructions = [
    instruction(COMPUTE_BUDGET_PROGRAM, [], integers([2, 1], [units, 4])),
    instruction(COMPUTE_BUDGET_PROGRAM, [], integers([3, 1], [order.computeUnitPrice, 8])),
    instruction(
      TOKEN_PROGRAM,
      [source, mint, payTo, payer],
      integers([12, 1], [order.amount, 8], [USDC_DECIMALS, 1]),
    ),
    ...(memo === undefined ? [] : [instruction(MEMO_PROGRAM, [], new TextEncoder().encode(memo))]),
  ];
  const message = Uint8Array.from([
    // Version 0.
    0x80,
    signers.length,
    // The payer of a gasless payment signs without paying a fee, so its account is read-only.
    signers.length - 1,
    readOnly.length,
    ...compactLength(keys.length),
    ...keys.flatMap((key) => [...addressBytes(key)]),
    ...addressBytes(order.blockhash),
    ...compactLength(instructions.length),
    ...instructions.flat(),
    // No address lookup tables.
    0,
  ]);
  const signatures = signers.map(() => new Uint8Array(SIGNATURE_LENGTH));
  return { message, signatures, slot: signers.length - 1 };
}

/** The wire form of a transaction. */
export function encodeTransaction({ message, signatures }: Transaction): Uint8Array<ArrayBuffer> {
  return Uint8Array.from([
    ...compactLength(signatures.length),
    ...signatures.flatMap((signature) => [...signature]),
    ...message,
  ]);
}

/** Reads a transaction in wire form. @throws TypeError if it ends too early */
export function decodeTransaction(bytes: Uint8Array): Transaction {
  const read = reader(bytes);
  const signatures = Array.from({ length: read.length() }, () => read.take(SIGNATURE_LENGTH));
  return { signatures, message: read.rest() };
}

/** Reads blockhash and instructions of a message, legacy or version 0. @throws TypeError for any other */
export function readMessage(bytes: Uint8Array): ReadMessage {
  const read = reader(bytes);
  const [first = 0] = bytes;
  if (first > 0x80) throw new TypeError("the message has an unknown version");
  read.take(first === 0x80 ? 4 : 3);
  read.take(read.length() * ADDRESS_LENGTH);
  const blockhash = toBase58(read.take(ADDRESS_LENGTH));
  const data = Array.from({ length: read.length() }, () => {
    // The program, then its accounts.
    read.take(1);
    read.take(read.length());
    return read.take(read.length());
  });
  return { blockhash, data };
}

function counted(values: readonly number[]): number[] {
  return [...compactLength(values.length), ...values];
}

/** https://solana.com/docs/core/transactions: compact-u16, seven bits a byte. */
function compactLength(length: number): number[] {
  const bytes: number[] = [];
  let rest = length;
  for (; rest > 0x7f; rest >>= 7) bytes.push((rest & 0x7f) | 0x80);
  return [...bytes, rest];
}

function reader(bytes: Uint8Array) {
  let position = 0;
  const take = (length: number): Uint8Array<ArrayBuffer> => {
    if (position + length > bytes.length) throw new TypeError("the transaction ends too early");
    position += length;
    return Uint8Array.from(bytes.subarray(position - length, position));
  };
  return {
    take,
    rest: () => take(bytes.length - position),
    length() {
      let value = 0;
      for (let shift = 0; shift < 21; shift += 7) {
        const [byte = 0] = take(1);
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80) return value;
      }
      throw new TypeError("the transaction has a length of more than three bytes");
    },
  };
}

/** Encodes unsigned little-endian integers of these sizes. @throws RangeError for one that does not fit */
function integers(...fields: readonly (readonly [bigint | number, number])[]): Uint8Array {
  const bytes: number[] = [];
  for (const [value, size] of fields) {
    let rest = BigInt(value);
    for (let index = 0; index < size; index += 1) {
      bytes.push(Number(rest & 0xffn));
      rest >>= 8n;
    }
    if (rest !== 0n) throw new RangeError(`${value} does not fit into ${size} bytes`);
  }
  return Uint8Array.from(bytes);
}
