import { MessageV0, PublicKey, VersionedTransaction } from "@solana/web3.js";

const TOKEN_PROGRAM = new PublicKey("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");
const ASSOCIATED_TOKEN_PROGRAM = new PublicKey("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL");
const MEMO_PROGRAM = new PublicKey("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
const COMPUTE_BUDGET_PROGRAM = new PublicKey("ComputeBudget111111111111111111111111111111");
const USDC_DECIMALS = 6;

/** Requested compute units: enough for a transfer and a memo, within a gateway's limit. */
const COMPUTE_UNIT_LIMIT = 40_000;

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
  readonly memo: string;
  readonly blockhash: string;
  /** Micro-lamports per compute unit. */
  readonly computeUnitPrice: bigint;
}

/** The associated token account of an owner, base58. */
export function tokenAccountOf(owner: string, mint: string): string {
  const seeds = [new PublicKey(owner).toBytes(), TOKEN_PROGRAM.toBytes(), new PublicKey(mint).toBytes()];
  return PublicKey.findProgramAddressSync(seeds, ASSOCIATED_TOKEN_PROGRAM)[0].toBase58();
}

/**
 * The unsigned transaction of a payment: compute limit, compute price, TransferChecked, memo, in the order
 * of x402's exact scheme on Solana. Builds the message key by key, so that it contains nothing else.
 */
export function buildPayment(order: PaymentOrder): VersionedTransaction {
  const { payer, feePayer, mint, payTo } = order;
  const signers = feePayer === payer ? [payer] : [feePayer, payer];
  const writable = [tokenAccountOf(payer, mint), payTo];
  const keys = [
    ...[...signers, ...writable, mint].map((address) => new PublicKey(address)),
    TOKEN_PROGRAM,
    MEMO_PROGRAM,
    COMPUTE_BUDGET_PROGRAM,
  ];
  const at = (address: string) => keys.findIndex((key) => key.toBase58() === address);
  const [source = "", destination = ""] = writable;
  const program = (key: PublicKey) => keys.indexOf(key);
  const message = new MessageV0({
    header: {
      numRequiredSignatures: signers.length,
      // The payer of a gasless payment signs without paying a fee, so its account is read-only.
      numReadonlySignedAccounts: signers.length - 1,
      numReadonlyUnsignedAccounts: 4,
    },
    staticAccountKeys: keys,
    recentBlockhash: order.blockhash,
    compiledInstructions: [
      {
        programIdIndex: program(COMPUTE_BUDGET_PROGRAM),
        accountKeyIndexes: [],
        data: numbers([2, 1], [COMPUTE_UNIT_LIMIT, 4]),
      },
      {
        programIdIndex: program(COMPUTE_BUDGET_PROGRAM),
        accountKeyIndexes: [],
        data: numbers([3, 1], [order.computeUnitPrice, 8]),
      },
      {
        programIdIndex: program(TOKEN_PROGRAM),
        accountKeyIndexes: [at(source), at(mint), at(destination), at(payer)],
        data: numbers([12, 1], [order.amount, 8], [USDC_DECIMALS, 1]),
      },
      {
        programIdIndex: program(MEMO_PROGRAM),
        accountKeyIndexes: [],
        data: new TextEncoder().encode(order.memo),
      },
    ],
    addressTableLookups: [],
  });
  return new VersionedTransaction(message);
}

/**
 * Encodes unsigned little-endian integers of the given sizes.
 * @throws RangeError for one that does not fit
 */
function numbers(...fields: readonly (readonly [bigint | number, number])[]): Uint8Array {
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
