import { datingOfEntries } from "../postgres/dated-entries.ts";
import { completed, callOf, failed, endRun } from "../postgres/fixture.ts";
import { query } from "../support/database-server.ts";
import type { Agent, World } from "../support/world.ts";

export const CALLS = 1_200;

const TOOLS = ["inference_chat", "sandbox_execute", "vram_estimate"];
const BATCH = 300;

/**
 * Makes calls directly on the ledger with two keys and varied prices. Every 11th fails, every 211th receipt
 * is refunded. Then spreads the transfers over the last forty days in order.
 */
export async function makeManyCalls(
  { postgres, database }: World,
  { accountId, keyId }: Agent,
): Promise<void> {
  const { ledger, accounts, apiKeys, refunds } = postgres;
  const { key: other } = await apiKeys.create({ accountId, name: "other", scopes: [] });
  const gift = { accountId, amount: 80_000_000n, reason: "for many calls" };
  await accounts.adjust({ ...gift, idempotencyKey: "many-calls" });
  const receiptIds: string[] = [];
  for (let done = 0; done < CALLS; done += BATCH) {
    const calls = Array.from({ length: BATCH }, (_, m) => {
      const n = done + m;
      return callOf(accountId, {
        keyId: n % 3 === 0 ? other.keyId : keyId,
        tool: TOOLS[n % TOOLS.length] ?? "",
        price: 1_000n + BigInt((n * 7_919) % 9_973),
      });
    });
    await Promise.all(calls.map((call) => ledger.authorize(call)));
    const ends = calls.map((call, m) => ((done + m) % 11 === 10 ? failed(call) : completed(call)));
    const finished = await Promise.all(ends.map((end) => endRun(ledger, end)));
    receiptIds.push(
      ...finished.flatMap((end) => (end.kind === "captured" && end.receipt ? [end.receipt.receiptId] : [])),
    );
  }
  for (const receiptId of receiptIds.filter((_, n) => n % 211 === 0))
    await refunds.refund({ receiptId, reason: "test" });
  await query(database.url, datingOfEntries());
}
