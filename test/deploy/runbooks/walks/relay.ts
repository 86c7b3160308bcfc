import { SystemProgram } from "@solana/web3.js";
import { expect } from "vitest";
import { gaslessPayment, signBuilt } from "../../../support/gasless.ts";
import { request } from "../../../support/world.ts";
import { runCommand } from "../page.ts";
import type { Stage, Walk } from "../stage.ts";

/** GASLESS_DAILY_LAMPORTS: one gasless payment costs 10,000. */
const ONE_PAYMENT = "12000";

async function payGasless({ scene, gateway }: Stage): Promise<void> {
  const agent = await scene.agent();
  const quote = await gateway.quote(agent);
  const body = JSON.stringify({ quote_id: quote.quote_id, payer: agent.wallet.publicKey.toBase58() });
  const { body: built } = await request(gateway, agent, "/v1/payments/transaction", { method: "POST", body });
  const paid = await gateway.buy(agent, gaslessPayment(signBuilt(built, agent.wallet), quote.quote_id));
  expect(paid.status, JSON.stringify(paid.body)).toBe(200);
}

export const RELAY_WALKS: readonly Walk[] = [
  {
    title: "the fee payer has spent its SOL and the fees of the day",
    alerts: {
      ToolgateFeePayerLow: /fee_payer_lamports 9\d{6}\b/,
      ToolgateRelayBudgetLow: /lamports_limit 12000/,
    },
    async cause(stage) {
      await payGasless(stage);
      const { feePayer } = stage.scene;
      const [fromPubkey, toPubkey] = [feePayer.publicKey, stage.agent.wallet.publicKey];
      await stage.scene.send(
        stage.agent,
        [SystemProgram.transfer({ fromPubkey, toPubkey, lamports: 990_000_000 })],
        feePayer,
      );
      await stage.restart({ GASLESS_DAILY_LAMPORTS: ONE_PAYMENT });
    },
    async remedy(stage) {
      const printed = await runCommand("node src/main.ts doctor", stage.machine);
      const [address = ""] = /\b[1-9A-HJ-NP-Za-km-z]{43,44}\b(?=.*SOL)/.exec(printed) ?? [];
      stage.scene.chain.controls.airdrop(address, 1_000_000_000n);
      await stage.restart();
    },
  },
];
