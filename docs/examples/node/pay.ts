// Pays an offer, for programs without a fetch, and prints the value of X-Payment.
//   WALLET=wallet.json node pay.ts < offer.json
// Pays gasless with TOOLGATE_URL and TOOLGATE_KEY, or with SOLANA_RPC_URL by a transfer that needs some SOL.
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { fromJsonString } from "@bufbuild/protobuf";
import {
  createTransferCheckedInstruction,
  getAssociatedTokenAddressSync,
  TOKEN_PROGRAM_ID,
} from "@solana/spl-token";
import {
  ComputeBudgetProgram,
  Connection,
  Keypair,
  PublicKey,
  sendAndConfirmTransaction,
  Transaction,
  TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from "@solana/web3.js";
import { PaymentRequiredSchema, type PaymentRequired } from "../../../gen/toolgate/v1/payment_pb.ts";

const MAX_PRICE = 10_000n; // micro-USD
const USDC = new PublicKey("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v");
const MEMO_PROGRAM = new PublicKey("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");

/** Reads the key file WALLET. */
export function wallet(): Keypair {
  return Keypair.fromSecretKey(
    Uint8Array.from(JSON.parse(readFileSync(process.env["WALLET"] ?? "wallet.json", "utf8"))),
  );
}

/** Sends the USDC; returns the value of X-Payment. */
export async function transfer(offer: PaymentRequired, rpcUrl: string): Promise<string> {
  const payer = wallet();
  const { quoteId, memo, instruction } = payment(offer, payer.publicKey);
  const transaction = new Transaction().add(instruction, memo);
  const tx = await sendAndConfirmTransaction(new Connection(rpcUrl, "confirmed"), transaction, [payer]);
  return xPayment({ tx, quote_id: quoteId });
}

/** Signs the transaction of BuildTransaction; returns the value of X-Payment. */
export function signed(offer: PaymentRequired, built: Uint8Array): string {
  const payer = wallet();
  const transaction = VersionedTransaction.deserialize(built);
  const { instructions, payerKey } = TransactionMessage.decompile(transaction.message);
  const { quoteId, instruction } = payment(offer, payer.publicKey);
  // A signature could move everything the wallet owns, so the message must be exactly this payment.
  const moving = instructions.filter(
    ({ programId }) => !programId.equals(MEMO_PROGRAM) && !programId.equals(ComputeBudgetProgram.programId),
  );
  const [only] = moving;
  const same =
    moving.length === 1 &&
    only?.programId.equals(TOKEN_PROGRAM_ID) === true &&
    instruction.data.equals(only.data) &&
    instruction.keys.every(({ pubkey }, index) => only.keys[index]?.pubkey.equals(pubkey));
  if (!same || payerKey.equals(payer.publicKey))
    throw new Error("not signed: it does not pay the offer, or does more");
  transaction.sign([payer]);
  return xPayment({
    transaction: Buffer.from(transaction.serialize()).toString("base64"),
    quote_id: quoteId,
  });
}

function payment({ quote, paymentInstructions: to, stepId }: PaymentRequired, payer: PublicKey) {
  if (!quote || !to) throw new Error("there is no offer");
  const { quoteId, priceUsdcMicrousd: price } = quote;
  if (price > MAX_PRICE) throw new Error(`not signed: ${price} micro-USD are too much`);
  const source = getAssociatedTokenAddressSync(USDC, payer);
  const instruction = createTransferCheckedInstruction(
    source,
    USDC,
    new PublicKey(to.payTo),
    payer,
    price,
    6,
  );
  const data = Buffer.from(`${stepId}:${quoteId}:${randomUUID()}`);
  return {
    quoteId,
    instruction,
    memo: new TransactionInstruction({ programId: MEMO_PROGRAM, keys: [], data }),
  };
}

function xPayment(proof: Record<string, string>): string {
  return Buffer.from(JSON.stringify(proof)).toString("base64url");
}

/** Builds the transaction at the gateway, over HTTP. */
async function build(quote_id: string): Promise<Uint8Array> {
  const response = await fetch(`${process.env["TOOLGATE_URL"]}/v1/payments/transaction`, {
    method: "POST",
    headers: { Authorization: `Bearer ${process.env["TOOLGATE_KEY"]}`, "Content-Type": "application/json" },
    body: JSON.stringify({ quote_id, payer: wallet().publicKey.toBase58() }),
  });
  const { transaction, message } = JSON.parse(await response.text());
  if (!response.ok) throw new Error(message);
  return Buffer.from(transaction, "base64");
}

if (import.meta.main) {
  const offer = fromJsonString(PaymentRequiredSchema, await text(process.stdin), {
    ignoreUnknownFields: true,
  });
  const rpcUrl = process.env["SOLANA_RPC_URL"];
  console.log(
    rpcUrl ? await transfer(offer, rpcUrl) : signed(offer, await build(offer.quote?.quoteId ?? "")),
  );
}
