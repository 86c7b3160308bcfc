import { createTransferCheckedInstruction, getAssociatedTokenAddressSync } from "@solana/spl-token";
import {
  Connection,
  PublicKey,
  sendAndConfirmTransaction,
  Transaction,
  TransactionInstruction,
  type Keypair,
} from "@solana/web3.js";
import { z } from "zod";

/** What an agent needs to buy a call. */
export interface DemoAgent {
  baseUrl: string;
  rpcUrl: string;
  apiKey: string;
  wallet: Keypair;
}

const MEMO_PROGRAM = new PublicKey("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");

const offerSchema = z.object({
  quote: z.object({
    quote_id: z.string(),
    price_usdc_microusd: z.number(),
    price_display: z.string(),
    expires_at: z.string(),
  }),
  payment_instructions: z.object({ pay_to: z.string(), usdc_mint: z.string(), memo_format: z.string() }),
  step_id: z.string(),
});
const paidSchema = z.object({
  ok: z.literal(true),
  result: z.object({ total: z.object({ gib: z.number() }).optional() }).loose(),
  receipt: z.object({
    receipt_id: z.string(),
    debited_usdc_microusd: z.number(),
    tx_signature: z.string().nullable(),
  }),
});
type Offer = z.output<typeof offerSchema>;

const CALL = {
  tool: "vram_estimate",
  params: { model: "llama-3.1-8b", dtype: "float16", context_length: 8192 },
};

/** Buys a call over plain HTTP: 402, payment, proof, repetition. @throws Error naming the step */
export async function buyOneCall(agent: DemoAgent, log: (line: string) => void): Promise<void> {
  const asked = await post(agent, {});
  if (asked.status === 200) return log(paidByBalance(paidSchema.parse(asked.body)));
  expectStatus("1 ask", asked, 402);
  const offer = offerSchema.parse(asked.body);
  log(
    `1  asked for ${CALL.tool}       -> 402, quote ${offer.quote.price_display} ` +
      `until ${offer.quote.expires_at}`,
  );

  const signature = await pay(agent, offer);
  log(
    `2  paid on the chain             -> ${signature.slice(0, 16)}… with memo <step_id>:<quote_id>:<nonce>`,
  );

  const proof = Buffer.from(JSON.stringify({ tx: signature, quote_id: offer.quote.quote_id })).toString(
    "base64url",
  );
  const bought = await post(agent, { "X-Payment": proof });
  expectStatus("3 repeat with the proof", bought, 200);
  const first = paidSchema.parse(bought.body);
  log(
    `3  repeated with X-Payment       -> 200, receipt ${first.receipt.receipt_id}, debited ` +
      `${first.receipt.debited_usdc_microusd} micro-USD`,
  );

  const repeated = await post(agent, { "X-Payment": proof });
  expectStatus("4 repeat once more", repeated, 200);
  const second = paidSchema.parse(repeated.body);
  if (second.receipt.receipt_id !== first.receipt.receipt_id)
    throw new Error("step 4: the repeated call got another receipt");
  log("4  repeated once more            -> 200, the same receipt, not charged again");
}

function paidByBalance({ receipt }: z.output<typeof paidSchema>): string {
  return (
    `1  asked for ${CALL.tool}       -> 200, receipt ${receipt.receipt_id}, debited ` +
    `${receipt.debited_usdc_microusd} micro-USD: paid from the account's balance`
  );
}

async function post(
  agent: DemoAgent,
  headers: Record<string, string>,
): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${agent.baseUrl}/v1/mcp/tools/call`, {
    method: "POST",
    headers: { Authorization: `Bearer ${agent.apiKey}`, "Content-Type": "application/json", ...headers },
    body: JSON.stringify(CALL),
  });
  return { status: response.status, body: await response.json() };
}

function expectStatus(step: string, answer: { status: number; body: unknown }, status: number): void {
  if (answer.status !== status)
    throw new Error(`step ${step}: expected ${status}, got ${answer.status} ${JSON.stringify(answer.body)}`);
}

async function pay(agent: DemoAgent, offer: Offer): Promise<string> {
  const connection = new Connection(agent.rpcUrl, "confirmed");
  const payer = agent.wallet.publicKey;
  const mint = new PublicKey(offer.payment_instructions.usdc_mint);
  const source = getAssociatedTokenAddressSync(mint, payer);
  const memo = `${offer.step_id}:${offer.quote.quote_id}:${Date.now().toString(36)}`;
  const transaction = new Transaction().add(
    createTransferCheckedInstruction(
      source,
      mint,
      new PublicKey(offer.payment_instructions.pay_to),
      payer,
      BigInt(offer.quote.price_usdc_microusd),
      6,
    ),
    new TransactionInstruction({ programId: MEMO_PROGRAM, keys: [], data: Buffer.from(memo, "utf8") }),
  );
  return sendAndConfirmTransaction(connection, transaction, [agent.wallet], { commitment: "confirmed" });
}
