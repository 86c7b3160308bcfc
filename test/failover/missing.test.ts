import { Keypair } from "@solana/web3.js";
import { expect, it } from "vitest";
import { findMissing } from "../faults/checks.ts";
import { Reference } from "../faults/reference.ts";

const customer = { accountId: "acct_1", apiKey: "sk-agent-1", wallet: Keypair.generate(), opening: 0n };
const receipt = {
  ...{ receipt_id: "rcpt_1", run_id: "run_1", paid_by: "balance", tx_signature: null },
  ...{ quoted_usdc_microusd: 1_000, debited_usdc_microusd: 1_000 },
};

it("finds an acknowledged call whose receipt is gone", async () => {
  const reference = new Reference();
  reference.open(customer);
  const call = { tool: "vram_estimate", params: {}, key: "k-1" };
  reference.sold(customer, call, { status: 200, headers: {}, text: "{}", body: { receipt } });
  const missing = await findMissing(async () => [], reference);
  expect(missing).toMatchObject([{ call, receiptId: "rcpt_1", debited: 1_000n }]);
});

it("misses no receipt of a free call", async () => {
  const reference = new Reference();
  reference.open(customer);
  const call = { tool: "echo", params: {}, key: "k-2" };
  reference.sold(customer, call, { status: 200, headers: {}, text: "{}", body: {} });
  expect(await findMissing(async () => [], reference)).toEqual([]);
});
