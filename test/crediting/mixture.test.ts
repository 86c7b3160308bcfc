import { createTransferCheckedInstruction } from "@solana/spl-token";
import { PublicKey } from "@solana/web3.js";
import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { USDC_DECIMALS, USDC_MINT } from "../../src/localchain/index.ts";
import { openChain, SolanaTreasury } from "../../src/solana/index.ts";
import { memoOf, xPayment, type Agent } from "../support/world.ts";
import { PRICE, soon, useScene } from "./fixture.ts";
import { SOLANA } from "../../src/domain/payments/payment-id.ts";

/** After any events in any order, the treasury holds what the ledger says. */
const scene = useScene();
let agents: Agent[];
beforeAll(async () => {
  agents = await Promise.all([scene.agent(), scene.agent(), scene.agent()]);
});

/** Events; each builds on the earlier ones. */
const DEEDS = {
  async prove(agent: Agent, amount: bigint) {
    const quote = await quoteFor(agent);
    if (!quote) return;
    const tx = await scene.pay(agent, PRICE + amount, memoOf(quote));
    expect((await scene.gateway.buy(agent, xPayment(tx, quote.quote_id))).status).toBe(200);
  },
  async underpay(agent: Agent, amount: bigint) {
    const quote = await quoteFor(agent);
    if (!quote) return;
    const tx = await scene.pay(agent, 1n + (amount % PRICE), memoOf(quote));
    await scene.gateway.buy(agent, xPayment(tx, quote.quote_id));
  },
  async payOnly(agent: Agent, amount: bigint) {
    const quote = await quoteFor(agent);
    if (quote) await scene.pay(agent, amount, memoOf(quote));
  },
  async payNobody(agent: Agent, amount: bigint) {
    await scene.pay(agent, amount, "thanks");
  },
  async buy(agent: Agent) {
    await scene.gateway.buy(agent);
  },
  async vanish(agent: Agent) {
    const quote = await quoteFor(agent);
    if (!quote) return;
    const tx = await scene.pay(agent, PRICE, memoOf(quote));
    expect((await scene.gateway.buy(agent, xPayment(tx, quote.quote_id))).status).toBe(200);
    scene.chain.chain.drop(tx);
  },
  async withdraw(agent: Agent, amount: bigint) {
    const { controls } = scene.chain;
    const [from, to] = [scene.treasury.publicKey, agent.wallet.publicKey];
    const accounts = [
      controls.usdcAccount(from),
      new PublicKey(USDC_MINT),
      controls.usdcAccount(to),
    ] as const;
    const some = (amount % 200n) + 1n;
    // Fails when the treasury holds less: that moves nothing.
    const take = createTransferCheckedInstruction(...accounts, from, some, USDC_DECIMALS);
    await scene.send(agent, [take], scene.treasury);
  },
  async finalize() {
    scene.finalize();
  },
  async restart() {
    await scene.gateway.close();
    scene.gateway = await scene.start();
  },
};

/** Undefined where the balance pays or is below zero. */
async function quoteFor(agent: Agent): Promise<{ quote_id: string } | undefined> {
  const { body } = await scene.gateway.buy(agent);
  return body.quote as { quote_id: string } | undefined;
}

const deed = fc.record({
  what: fc.constantFrom(...(Object.keys(DEEDS) as (keyof typeof DEEDS)[])),
  who: fc.nat(2),
  amount: fc.bigInt(1n, 3_000n),
});

it("keeps treasury and ledger equal after random payments, calls, withdrawals, forks and restarts", async () => {
  const urls = [scene.chain.url, scene.secondUrl];
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const treasuryOwner = scene.treasury.publicKey.toBase58();
  const rules = { memoPrefix: "svc", waitMs: 0, finalizedAbove: 0n, clock: Date, log };
  const chain = openChain({ urls, treasuryOwner, ...rules });
  const treasury = new SolanaTreasury({ ...rules, rpc: chain.rpc, treasury: chain.treasury });
  const { treasuryLedger: books } = scene.postgres;
  const signal = new AbortController().signal;

  const mixtures = fc.array(deed, { minLength: 20, maxLength: 20 });
  const run = async (deeds: { what: keyof typeof DEEDS; who: number; amount: bigint }[]) => {
    for (const { what, who, amount } of deeds) await DEEDS[what](agents[who] as Agent, amount);
    scene.chain.chain.advance(700);
    const difference = async () =>
      (await treasury.balance(signal)) - ((await books.watch(scene.payTo))?.expected ?? 0n);
    await expect.poll(difference, soon).toBe(0n);
    await expect.poll(() => books.unfinalized({ network: SOLANA, minAgeMs: 0, limit: 9 }), soon).toEqual([]);
    expect(await scene.violations()).toEqual([]);
    const errors = scene.gateway.log.filter(
      ({ level, msg }) => level >= 50 && !msg.includes("vanished from the chain"),
    );
    expect(errors).toEqual([]);
  };
  await fc.assert(fc.asyncProperty(mixtures, run), { numRuns: 3, endOnFailure: true });
});
