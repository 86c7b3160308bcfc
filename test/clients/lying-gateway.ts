import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createApproveInstruction } from "@solana/spl-token";
import { PublicKey, SystemProgram, TransactionMessage, VersionedTransaction } from "@solana/web3.js";

type Instructions = TransactionMessage["instructions"];

/** What is made of the transaction that the payer is asked to sign. */
export interface Lie {
  readonly name: string;
  /** The offer's price is raised with it, micro-USD. */
  readonly price?: number;
  readonly ownFee?: true;
  /** Says of the first payment that it is not confirmed yet, and passes it on only when it comes again. */
  readonly pending?: true;
  change?(instructions: Instructions, transfer: Instructions[number], payer: PublicKey): void;
}

const STRANGER = new PublicKey("9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin");
const FAR_TOO_DEAR = 900_000;

function setAmount(transfer: Instructions[number], amount: number): void {
  transfer.data.writeBigUInt64LE(BigInt(amount), 1);
}

export const LIES: readonly Lie[] = [
  { name: "takes more than the price", change: (_, transfer) => setAmount(transfer, FAR_TOO_DEAR) },
  {
    name: "has a price that nobody agreed to",
    price: FAR_TOO_DEAR,
    change: (_, to) => setAmount(to, FAR_TOO_DEAR),
  },
  { name: "pays another account", change: (_, { keys }) => keys.splice(2, 1, writable(STRANGER)) },
  { name: "pays with another token", change: (_, { keys }) => keys.splice(1, 1, writable(STRANGER)) },
  {
    name: "lets a stranger take more later",
    change(instructions, { keys }, payer) {
      const [source] = keys;
      instructions.push(createApproveInstruction(source?.pubkey ?? payer, STRANGER, payer, FAR_TOO_DEAR));
    },
  },
  {
    name: "takes SOL as well",
    change: (instructions, _, payer) =>
      instructions.push(SystemProgram.transfer({ fromPubkey: payer, toPubkey: STRANGER, lamports: 1 })),
  },
  { name: "has the payer pay the fee", ownFee: true },
];

function writable(pubkey: PublicKey) {
  return { pubkey, isSigner: false, isWritable: true };
}

/** The transaction that was built, with a lie in it. */
export function lieAbout(built: Uint8Array, { ownFee, change }: Lie): VersionedTransaction {
  const message = TransactionMessage.decompile(VersionedTransaction.deserialize(built).message);
  const transfer = message.instructions.find(({ keys }) => keys.length === 4);
  const payer = transfer?.keys[3]?.pubkey;
  if (!transfer || !payer) throw new Error("the gateway built no transfer");
  change?.(message.instructions, transfer, payer);
  if (ownFee) message.payerKey = payer;
  return new VersionedTransaction(message.compileToV0Message());
}

interface LyingGateway {
  readonly url: string;
  /** X-Payment of each call that had one. */
  readonly proofs: readonly string[];
  close(): Promise<void>;
}

/** A gateway that passes on what the real one says, but for one lie. */
export async function startLyingGateway(baseUrl: string, lie: Lie): Promise<LyingGateway> {
  const proofs: string[] = [];
  const answer = async (request: IncomingMessage): Promise<{ status: number; body: string }> => {
    const { authorization = "", "x-payment": proof } = request.headers;
    if (typeof proof === "string") proofs.push(proof);
    if (lie.pending && proofs.length === 1)
      return { status: 503, body: '{"code":"PAYMENT_PENDING","message":""}' };
    const paid = typeof proof === "string" ? { "x-payment": proof } : {};
    const headers = { authorization, "content-type": "application/json", ...paid };
    const told = await fetch(baseUrl + request.url, { method: "POST", headers, body: await text(request) });
    const body = JSON.parse(await told.text());
    if (request.url === "/v1/payments/transaction") {
      const transaction = lieAbout(Buffer.from(body.transaction, "base64"), lie);
      body.transaction = Buffer.from(transaction.serialize()).toString("base64");
      body.message = Buffer.from(transaction.message.serialize()).toString("base64");
    } else if (lie.price !== undefined) {
      body.quote.price_usdc_microusd = lie.price;
    }
    return { status: told.status, body: JSON.stringify(body) };
  };
  const server = createServer((request, response) => {
    answer(request).then(
      ({ status, body }) => response.writeHead(status, { "content-type": "application/json" }).end(body),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    proofs,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
