import type { Agent, World } from "../../support/world.ts";

/** Sends USDC to the treasury that names no quote, and has it recorded. @returns the transaction's signature */
export async function gift(world: World, agent: Agent, amount: bigint, memo: string): Promise<string> {
  const tx = await world.pay(agent, amount, memo);
  const { treasuryBooks } = world.postgres;
  await treasuryBooks.beginWatch(world.gateway.payTo, { amount: 0n, slot: 0n });
  await treasuryBooks.record(world.gateway.payTo, {
    txSignature: tx,
    slot: 1n,
    blockTime: new Date(),
    change: amount,
    memo: undefined,
    memos: memo,
    payer: agent.wallet.publicKey.toBase58(),
    owner: undefined,
  });
  return tx;
}
