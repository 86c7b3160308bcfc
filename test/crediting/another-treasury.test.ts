import { createTransferCheckedInstruction } from "@solana/spl-token";
import { PublicKey } from "@solana/web3.js";
import { expect, it } from "vitest";
import { checkTreasury } from "../../src/cli/audit.ts";
import { readConfig, requireServeConfig } from "../../src/config/config.ts";
import { USDC_DECIMALS, USDC_MINT } from "../../src/solana/core/treasury.ts";
import { closing } from "../support/postgres.ts";
import { memoOf, xPayment } from "../support/world.ts";
import { setScene, soon } from "./fixture.ts";

const scene = closing(await setScene());
const agent = await scene.agent();

const balance = () => scene.postgres.ledger.balance(agent.accountId);
const watch = (tokenAccount: string) => scene.postgres.treasuryLedger.watch(tokenAccount);

it("changes the treasury as docs/reference/configuration.md describes, and keeps the ledger right", async () => {
  const next = scene.chain.controls.createWallet({ microUsd: 0n }).publicKey;
  const nextTokens = scene.chain.controls.usdcAccount(next);
  const settings = { TREASURY_OWNER: next.toBase58() };
  const move = async (amount: bigint) => {
    const accounts = [new PublicKey(scene.payTo), new PublicKey(USDC_MINT), nextTokens] as const;
    const take = createTransferCheckedInstruction(
      ...accounts,
      scene.treasury.publicKey,
      amount,
      USDC_DECIMALS,
    );
    await scene.send(agent, [take], scene.treasury);
    scene.finalize();
  };
  const check = () => checkTreasury(requireServeConfig(readConfig({ ...scene.settings, ...settings })));

  const former = await scene.start();
  const quote = await former.quote(agent);
  await scene.pay(agent, 400n, memoOf(quote));
  scene.finalize();
  await expect.poll(balance, soon).toBe(400n);
  await move(400n);
  await expect.poll(async () => (await watch(scene.payTo))?.expected, soon).toBe(0n);
  await former.close();

  const present = await scene.start(settings);
  const open = { limit: 10, cursor: undefined, status: "open" } as const;
  const suspended = async () => (await scene.postgres.suspense.list(open)).items;
  await expect.poll(suspended, soon).toMatchObject([{ amount: 400n }]);
  for (const { txSignature } of await suspended())
    await scene.postgres.suspense.assign({ txSignature, to: "operator", reason: "moved" });
  expect(await check()).toMatchObject({ violations: 0n, difference_usdc: "0.000000" });

  // The holder of a quote pays to its address.
  const late = await scene.pay(agent, 1_000n, memoOf(quote));
  scene.finalize();
  expect(await present.buy(agent, xPayment(late, quote.quote_id))).toMatchObject({
    status: 402,
    body: { code: "INVALID_PAYMENT" },
  });
  const seen = (await watch(nextTokens.toBase58()))?.checkedAt ?? new Date(0);
  await expect
    .poll(async () => ((await watch(nextTokens.toBase58()))?.checkedAt ?? seen) > seen, soon)
    .toBe(true);
  expect([await balance(), await suspended()]).toEqual([400n, []]);
  const byHand = {
    accountId: agent.accountId,
    amount: 1_000n,
    reason: "paid the former treasury",
    idempotencyKey: late,
  };
  await scene.postgres.accounts.adjust(byHand);
  expect((await present.buy(agent)).status).toBe(200);
  expect(await check()).toMatchObject({ violations: 0n, difference_usdc: "0.000000" });
  expect(await scene.violations()).toEqual([]);
});
