import { getBase58Decoder, getBase58Encoder } from "@solana/kit";
import { expect } from "vitest";
import { z } from "zod";
import { memoOf, xPayment, type Agent } from "../../../support/world.ts";
import { remedyOf, runCommand } from "../page.ts";
import type { Stage, Walk } from "../stage.ts";

const bothEndpoints = ({ scene }: Stage) => [scene.chain.faults, scene.secondFaults];

/** Proves a new payment until it is accepted. */
async function buyWithPayment({ scene, gateway }: Stage, payer: Agent): Promise<void> {
  const quote = await gateway.quote(payer);
  const tx = await scene.pay(payer, 1_000n, memoOf(quote));
  const proved = async () => (await gateway.buy(payer, xPayment(tx, quote.quote_id))).status;
  await expect.poll(proved, { timeout: 20_000, interval: 500 }).toBe(200);
}

const transaction = z.looseObject({
  transaction: z.looseObject({
    message: z.looseObject({ instructions: z.array(z.looseObject({ data: z.string() })) }),
  }),
  meta: z.looseObject({
    postTokenBalances: z.array(
      z.looseObject({ owner: z.string(), uiTokenAmount: z.looseObject({ amount: z.string() }) }),
    ),
  }),
});

const HISTORY = "getSignaturesForAddress";

/** The answer of an endpoint. */
async function asked({ scene }: Stage, method: string, params: readonly unknown[]) {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const answer = await fetch(scene.secondUrl, { method: "POST", body });
  return z.object({ result: z.json() }).parse(await answer.json()).result;
}

/** From now on the endpoints show no later payment to the treasury in its history. */
async function stopHistory(stage: Stage): Promise<void> {
  const { scene, gateway } = stage;
  const payer = await scene.agent();
  await scene.pay(payer, 1_000n, memoOf(await gateway.quote(payer)));
  await expect.poll(() => scene.postgres.ledger.balance(payer.accountId)).toBe(1_000n);
  const result = await asked(stage, HISTORY, [scene.payTo, { commitment: "finalized" }]);
  for (const faults of bothEndpoints(stage))
    faults.add({ method: HISTORY, fault: { kind: "result", result } });
}

/** Kind, amount and decimals. */
const TRANSFER_CHECKED_BYTES = 10;

/** What an endpoint answers about a transaction, with another amount of it. */
async function forged(stage: Stage, tx: string, by: bigint) {
  const params = [tx, { commitment: "confirmed", maxSupportedTransactionVersion: 0 }];
  const result = transaction.parse(await asked(stage, "getTransaction", params));
  const owner = stage.scene.treasury.publicKey.toBase58();
  for (const balance of result.meta.postTokenBalances)
    if (balance.owner === owner)
      balance.uiTokenAmount.amount = String(BigInt(balance.uiTokenAmount.amount) + by);
  for (const instruction of result.transaction.message.instructions) {
    const data = Buffer.from(getBase58Encoder().encode(instruction.data));
    if (data.length !== TRANSFER_CHECKED_BYTES) continue;
    data.writeBigUInt64LE(data.readBigUInt64LE(1) + by, 1);
    instruction.data = getBase58Decoder().decode(data);
  }
  return z.json().parse(result);
}

let late: NodeJS.Timeout;
let deceived: Agent;

export const CHAIN_WALKS: readonly Walk[] = [
  {
    title: "all endpoints of the chain fail",
    alerts: {
      ToolgateRpcEndpointFailing: /outcome="http"/,
      ToolgateWatchStale: /toolgate_watch_age_seconds [1-9]/,
      ToolgateJobsFailing: /treasury job failed/,
    },
    cause(stage) {
      for (const faults of bothEndpoints(stage))
        faults.add({ method: "*", fault: { kind: "http", status: 500 } });
    },
    remedy(stage) {
      for (const faults of bothEndpoints(stage)) faults.clear();
    },
  },
  {
    title: "a credited payment vanishes",
    alerts: { ToolgatePaymentsReversed: /reversed/ },
    async cause({ scene, gateway }) {
      const payer = await scene.agent();
      const quote = await gateway.quote(payer);
      const tx = await scene.pay(payer, 1_000n, memoOf(quote));
      expect((await gateway.buy(payer, xPayment(tx, quote.quote_id))).status).toBe(200);
      const { chain } = scene.chain;
      expect(chain.drop(tx)).toBe(true);
      chain.advance(650);
    },
    remedy() {},
  },
  {
    title: "all endpoints of the chain lag",
    alerts: { ToolgateCreditsLate: /toolgate_credit_delay_seconds_sum/ },
    async cause(stage) {
      const payer = await stage.scene.agent();
      for (const faults of bothEndpoints(stage))
        faults.add({ method: "*", fault: { kind: "stale", slots: 100 } });
      late = setInterval(() => void buyWithPayment(stage, payer).catch(() => {}), 1_000);
    },
    remedy(stage) {
      clearInterval(late);
      for (const faults of bothEndpoints(stage)) faults.clear();
    },
  },
  {
    title: "no endpoint shows a payment in the treasury's history",
    alerts: { ToolgateTreasuryDifference: /treasury_usdc|expected/ },
    async cause(stage) {
      await stopHistory(stage);
      const payer = await stage.scene.agent();
      await stage.scene.pay(payer, 55n, memoOf(await stage.gateway.quote(payer)));
    },
    async remedy(stage) {
      for (const faults of bothEndpoints(stage)) faults.clear();
      await stage.restart();
    },
  },
  {
    title: "an endpoint reports another amount of a payment",
    alerts: { ToolgatePaymentsMismatched: /credited_usdc[^]*expected/ },
    async cause(stage) {
      const { scene, gateway } = stage;
      // The treasury's watch finalizes what is credited; only the reader of single payments compares.
      await stopHistory(stage);
      deceived = await scene.agent();
      const quote = await gateway.quote(deceived);
      const tx = await scene.pay(deceived, 1_000n, memoOf(quote));
      const result = await forged(stage, tx, 500n);
      for (const faults of bothEndpoints(stage))
        faults.add({ method: "getTransaction", fault: { kind: "result", result } });
      const bought = await gateway.buy(deceived, xPayment(tx, quote.quote_id));
      for (const faults of bothEndpoints(stage)) faults.clear("getTransaction");
      expect(bought.status, JSON.stringify(bought.body)).toBe(200);
    },
    async remedy(stage) {
      const { machine, scene } = stage;
      for (const faults of bothEndpoints(stage)) faults.clear();
      const values = { ID: deceived.accountId, AMOUNT: "-0.0005", TEXT: "forged" };
      const adjust = "node src/main.ts accounts adjust";
      await runCommand(remedyOf("ToolgatePaymentsMismatched", adjust, values), machine);
      expect(await scene.postgres.ledger.balance(deceived.accountId)).toBe(0n);
    },
  },
];
