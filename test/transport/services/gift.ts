import { expect } from "vitest";
import type { Agent, World } from "../../support/world.ts";

/** Settings of a gateway that watches the treasury continuously. */
export const WATCHFUL = { WATCH_INTERVAL_MS: "100" };

/** More slots than finality takes. */
const FINAL = 40;

/**
 * Sends USDC without a quote to the treasury and waits until it is in suspense. @returns the transaction's
 * signature
 */
export async function gift(world: World, agent: Agent, amount: bigint, memo: string): Promise<string> {
  const tx = await world.pay(agent, amount, memo);
  world.chain.chain.advance(FINAL);
  const newest = { limit: 1, cursor: undefined, status: undefined };
  await expect.poll(async () => (await world.postgres.suspense.list(newest)).items[0]?.txSignature).toBe(tx);
  return tx;
}
