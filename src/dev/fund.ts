import { z } from "zod";
import { getAssociatedTokenAddressSync } from "@solana/spl-token";
import { PublicKey } from "@solana/web3.js";
import type { DevState } from "./dev-state.ts";

const USDC = new PublicKey("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v");
const LAMPORTS = 1_000_000_000;
const MICRO_USD = 100_000_000;
/** Balances below these are refilled: enough for a few hundred purchases. */
const LOW = { lamports: 50_000_000, microUsd: 10_000_000 };

const answerSchema = z.object({
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
});
const balanceSchema = z.object({ value: z.number() });
const tokenBalanceSchema = z.object({ value: z.object({ amount: z.string() }) });

/** Tops up the demo agent and the fee payer, and creates the treasury's token account, locally. */
export async function fundWallets(rpcUrl: string, { treasury, wallet, feePayer }: DevState): Promise<void> {
  const ask = (method: string, params: unknown[]) => call(rpcUrl, method, params);
  const agent = wallet.publicKey.toBase58();
  if ((await usdcOf(ask, treasury.publicKey)) === undefined)
    await expectResult(ask("local_mintUsdc", [treasury.publicKey.toBase58(), 0]));
  for (const address of [agent, feePayer.publicKey.toBase58()]) {
    const lamports = balanceSchema.parse(await expectResult(ask("getBalance", [address]))).value;
    if (lamports < LOW.lamports) await expectResult(ask("local_airdrop", [address, LAMPORTS]));
  }
  if (((await usdcOf(ask, wallet.publicKey)) ?? 0) < LOW.microUsd)
    await expectResult(ask("local_mintUsdc", [agent, MICRO_USD]));
}

type Answer = z.output<typeof answerSchema>;

/** Micro-USD; undefined when there is no token account. */
async function usdcOf(
  ask: (method: string, params: unknown[]) => Promise<Answer>,
  owner: PublicKey,
): Promise<number | undefined> {
  const answer = await ask("getTokenAccountBalance", [getAssociatedTokenAddressSync(USDC, owner).toBase58()]);
  return answer.error ? undefined : Number(tokenBalanceSchema.parse(answer.result).value.amount);
}

async function expectResult(answer: Promise<Answer>): Promise<unknown> {
  const { result, error } = await answer;
  if (error) throw new Error(`the local chain refused: ${error.message}`);
  return result;
}

async function call(rpcUrl: string, method: string, params: unknown[]): Promise<Answer> {
  const response = await fetch(rpcUrl, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  return answerSchema.parse(await response.json());
}
