import { createServer, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { createApproveInstruction } from "@solana/spl-token";
import { PublicKey, SystemProgram, TransactionMessage, VersionedTransaction } from "@solana/web3.js";
import { closeServer, listen } from "../support/servers.ts";

type Instructions = TransactionMessage["instructions"];

/** A manipulation of the offer or of the transaction to sign. */
export interface Manipulation {
  readonly name: string;
  /** Raised price of the offer, micro-USD. */
  readonly price?: number;
  readonly ownFee?: true;
  /** Answers the first payment with PAYMENT_PENDING and forwards its repeat. */
  readonly pending?: true;
  change?(instructions: Instructions, transfer: Instructions[number], payer: PublicKey): void;
}

const STRANGER = new PublicKey("9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin");
const EXCESSIVE_PRICE = 900_000;

function setAmount(transfer: Instructions[number], amount: number): void {
  transfer.data.writeBigUInt64LE(BigInt(amount), 1);
}

export const MANIPULATIONS: readonly Manipulation[] = [
  { name: "takes more than the price", change: (_, transfer) => setAmount(transfer, EXCESSIVE_PRICE) },
  {
    name: "has another price than the offer",
    price: EXCESSIVE_PRICE,
    change: (_, to) => setAmount(to, EXCESSIVE_PRICE),
  },
  { name: "pays another account", change: (_, { keys }) => keys.splice(2, 1, writable(STRANGER)) },
  { name: "pays with another token", change: (_, { keys }) => keys.splice(1, 1, writable(STRANGER)) },
  {
    name: "approves a stranger to take more later",
    change(instructions, { keys }, payer) {
      const [source] = keys;
      instructions.push(createApproveInstruction(source?.pubkey ?? payer, STRANGER, payer, EXCESSIVE_PRICE));
    },
  },
  {
    name: "takes SOL as well",
    change: (instructions, _, payer) =>
      instructions.push(SystemProgram.transfer({ fromPubkey: payer, toPubkey: STRANGER, lamports: 1 })),
  },
  { name: "makes the payer pay the fee", ownFee: true },
];

function writable(pubkey: PublicKey) {
  return { pubkey, isSigner: false, isWritable: true };
}

export function manipulate(built: Uint8Array, { ownFee, change }: Manipulation): VersionedTransaction {
  const message = TransactionMessage.decompile(VersionedTransaction.deserialize(built).message);
  const transfer = message.instructions.find(({ keys }) => keys.length === 4);
  const payer = transfer?.keys[3]?.pubkey;
  if (!transfer || !payer) throw new Error("the gateway built no transfer");
  change?.(message.instructions, transfer, payer);
  if (ownFee) message.payerKey = payer;
  return new VersionedTransaction(message.compileToV0Message());
}

interface MaliciousGateway {
  readonly url: string;
  /** X-Payment of each call that had one. */
  readonly proofs: readonly string[];
  close(): Promise<void>;
}

/** Starts a proxy of the gateway that manipulates one thing. */
export async function startMaliciousGateway(
  baseUrl: string,
  manipulation: Manipulation,
): Promise<MaliciousGateway> {
  const proofs: string[] = [];
  const answer = async (request: IncomingMessage): Promise<{ status: number; body: string }> => {
    const { authorization = "", "x-payment": proof } = request.headers;
    if (typeof proof === "string") proofs.push(proof);
    if (manipulation.pending && proofs.length === 1)
      return { status: 503, body: '{"code":"PAYMENT_PENDING","message":""}' };
    const paid = typeof proof === "string" ? { "x-payment": proof } : {};
    const headers = { authorization, "content-type": "application/json", ...paid };
    const answered = await fetch(baseUrl + request.url, {
      method: "POST",
      headers,
      body: await text(request),
    });
    const body = JSON.parse(await answered.text());
    if (request.url === "/v1/payments/transaction") {
      const transaction = manipulate(Buffer.from(body.transaction, "base64"), manipulation);
      body.transaction = Buffer.from(transaction.serialize()).toString("base64");
      body.message = Buffer.from(transaction.message.serialize()).toString("base64");
    } else if (manipulation.price !== undefined) {
      body.quote.price_usdc_microusd = manipulation.price;
    }
    return { status: answered.status, body: JSON.stringify(body) };
  };
  const server = createServer((request, response) => {
    answer(request).then(
      ({ status, body }) => response.writeHead(status, { "content-type": "application/json" }).end(body),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  const url = `http://127.0.0.1:${await listen(server)}`;
  return { url, proofs, close: () => closeServer(server) };
}
