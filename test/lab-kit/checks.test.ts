import { Keypair } from "@solana/web3.js";
import { beforeAll, describe, expect, it } from "vitest";
import { callOf, completed, depositOf, openLedger, paymentOf, PRICE } from "../postgres/fixture.ts";
import { wrongChat } from "./chat-answer.ts";
import { checkCharges, findMissing } from "./checks.ts";
import { Tally } from "./tally.ts";

const { one } = await openLedger();

describe("the labs' check of charges", () => {
  beforeAll(async () => {
    const account = await one.account(PRICE);
    for (const change of [{ idempotencyKey: "metered" }, { payment: paymentOf(depositOf()) }]) {
      const call = callOf(account, change);
      await one.ledger.authorize(call);
      await one.ledger.capture({ ...completed(call), captured: 40n });
    }
  });

  /** The violated promises after a change that the ledger's own guards would refuse. */
  async function violatedAfter(change: string): Promise<string[]> {
    const client = await one.pool.connect();
    const tally = new Tally();
    try {
      await client.query("begin; set local session_replication_role = replica");
      await client.query("alter table receipt drop constraint receipt_captured_check");
      expect((await client.query(change)).rowCount).toBeGreaterThan(0);
      const rows = async (text: string, values: unknown[] = []) => (await client.query(text, values)).rows;
      await checkCharges({ ground: { rows }, tally });
    } finally {
      await client.query("rollback");
      client.release();
    }
    return tally.violations.map(({ promise }) => promise);
  }

  it("accepts metered charges below their quotes", async () => {
    expect(await violatedAfter("update receipt set debited = debited")).toEqual([]);
  });

  it.each([
    ["above its quote", "update receipt set debited = quoted + 1"],
    ["above its quote that the hold covers", "update receipt set quoted = 39"],
    ["above its hold", "update run set price = 39"],
    ["of nothing", "update receipt set debited = 0"],
    ["for a failed run", "update run set status = 'failed'"],
    ["without a stored result", "delete from idempotency"],
  ])("finds a charge %s", async (_what, change) => {
    expect(await violatedAfter(change)).toEqual(["a charge is at most its hold, for a stored result"]);
  });
});

describe("the labs' check of what is stored", () => {
  const customer = { accountId: "acct_1", apiKey: "sk-agent-1", wallet: Keypair.generate(), opening: 0n };
  const call = { tool: "vram_estimate", params: {}, key: "k-1" };
  const sale = { customer, call, debited: 1_000n, digest: "" };

  it.each([
    ["finds an acknowledged call whose receipt is gone", { ...sale, receiptId: "rcpt_1" }, 1],
    ["misses no receipt of a free call", { ...sale, receiptId: undefined, debited: 0n }, 0],
  ])("%s", async (_what, sold, count) => {
    expect(await findMissing(async () => [], { sales: [sold] })).toHaveLength(count);
  });
});

describe("the labs' check of a chat", () => {
  const params = { messages: [{ role: "user", content: "7" }] };
  const result = { content: "You said: 7", finish_reason: "stop" };
  const usage = { prompt_tokens: 10, completion_tokens: 6 };

  it.each([
    ["accepts the charge of its tokens", 14, usage, undefined],
    ["finds a charge above the quote", 101, usage, "more than the quote"],
    ["finds a charge above the tokens", 15, usage, "charged other than the 14 it used"],
    ["finds a charge below the tokens", 13, usage, "charged other than the 14 it used"],
    ["finds a charge without counts", 14, undefined, "no token counts"],
  ])("%s", (_what, debited, counted, problem) => {
    const receipt = {
      ...{ receipt_id: "rcpt_1", run_id: "run_1", paid_by: "balance", tx_signature: null },
      ...{ quoted_usdc_microusd: 100, debited_usdc_microusd: debited },
    };
    expect(wrongChat(params, { result: { ...result, usage: counted }, receipt })).toBe(problem);
  });
});
