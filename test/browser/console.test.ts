import { afterAll, beforeAll, expect, test } from "vitest";
import { startConsoleWorld, type ConsoleWorld } from "./console-world.ts";
import { testWallet } from "./wallet.ts";

let world: ConsoleWorld;
beforeAll(async () => {
  world = await startConsoleWorld();
});
afterAll(() => world?.close());

test("somebody signs in with a wallet, is still signed in after a reload, and signs out", async () => {
  const agent = await world.agent();
  const wallet = testWallet(agent.wallet);
  const { page, leave } = await world.visitor({ wallets: [wallet] });
  await page.goto("");
  await page.getByRole("button", { name: "Test wallet" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  expect(wallet.asked).toEqual(["signIn"]);
  await page.reload();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in with your wallet" }).waitFor();
  await leave();
});
