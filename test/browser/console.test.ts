import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readFile } from "node:fs/promises";
import process from "node:process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SessionService } from "#gen/toolgate/console/v1/session_service_pb.ts";
import { secret } from "../support/record.ts";
import { startConsoleWorld, type ConsoleWorld } from "./console-world.ts";
import { ledger, testWallet, walletWithoutSignIn } from "./wallet.ts";

/** However busy the machine is. */
const SOON = { timeout: 20_000, interval: 100 };

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

test("a wallet without signIn signs the text as a message, and a Ledger signs a transaction", async () => {
  const [plain, onLedger] = [walletWithoutSignIn((await world.agent()).wallet), ledger((await world.agent()).wallet)];
  const { page, leave } = await world.visitor({ wallets: [plain, onLedger] });
  await page.goto("");
  await page.getByRole("button", { name: "Plain wallet" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  expect(plain.asked).toEqual(["signMessage"]);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Ledger" }).click();
  await page.getByRole("button", { name: "Sign a transaction instead" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  expect(onLedger.asked).toEqual(["signTransaction"]);
  await leave();
});

test("whoever declines in the wallet is told so and nothing else happens", async () => {
  const wallet = testWallet((await world.agent()).wallet, { refuses: true });
  const { page, context, leave } = await world.visitor({ wallets: [wallet] });
  await page.goto("");
  await page.getByRole("button", { name: "Test wallet" }).click();
  await page.getByText("You declined in Test wallet").waitFor();
  expect(await context.cookies()).toEqual([]);
  wallet.refuses = false;
  await page.getByRole("button", { name: "Test wallet" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await leave();
});

test("a key is shown until it is saved, works from elsewhere, and is refused once it is revoked", async () => {
  const agent = await world.agent();
  const { page, leave } = await world.signedIn(agent.wallet);
  await page.goto("keys");
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByLabel("Name").fill("From outside");
  await page.getByRole("button", { name: "Create key" }).click();
  const shown = page.getByRole("region", { name: "API key" });
  const apiKey = secret("an API key", (await shown.textContent())?.trim() ?? "");
  await page.keyboard.press("Escape");
  const places = page.getByRole("navigation", { name: "Console" });
  await places.getByRole("link", { name: "Overview" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await places.getByRole("link", { name: "Keys" }).click();
  expect((await shown.textContent())?.trim()).toBe(apiKey);

  const outside = { ...agent, apiKey };
  expect(await world.call(outside, "get_status", {})).toMatchObject({ status: 200 });
  await page.getByRole("button", { name: "I have saved it" }).click();
  await page.getByRole("button", { name: "Revoke From outside" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
  await expect.poll(async () => (await world.call(outside, "get_status", {})).status, SOON).toBe(401);
  expect(await page.content()).not.toContain(apiKey);
  await leave();
});

test("a deposit from the page's wallet is followed until it is on the balance", async () => {
  const agent = await world.agent();
  const { page, leave } = await world.signedIn(agent.wallet, { wallets: [testWallet(agent.wallet)] });
  await page.goto("deposit");
  await page.getByLabel("Amount in USDC").fill("2.5");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("button", { name: "Test wallet" }).click();
  await page.getByRole("button", { name: "Pay $2.50" }).click();
  await page.getByText("Credited to your balance").waitFor();
  expect(await world.postgres.ledger.balance(agent.accountId)).toBe(2_500_000n);
  await page.getByRole("navigation").getByRole("link", { name: "Overview" }).click();
  await page.getByText("$2.50").first().waitFor();
  expect(await world.violations()).toEqual([]);
  await leave();
});

test("the statement as a file adds up to the balance in the ledger", async () => {
  const agent = await world.agent({ balance: 5_000_000n });
  for (const count of [1, 2, 3]) await world.call(agent, "vram_estimate", { parameters_b: count });
  const { page, leave } = await world.signedIn(agent.wallet);
  await page.goto("activity");
  await page.getByRole("tab", { name: "Statement" }).click();
  await page.getByRole("button", { name: "Export CSV" }).click();
  const downloading = page.waitForEvent("download");
  await page.getByRole("link", { name: "Save CSV" }).click();
  const [head = "", ...lines] = (await readFile(await (await downloading).path(), "utf8")).trim().split(/\r?\n/);
  const columns = head.split(",");
  const rows = lines.map((line) => Object.fromEntries(line.split(",").map((cell, at) => [columns[at] ?? "", cell])));
  expect(rows.map((row) => row["kind"])).toEqual(["adjustment", "charge", "charge", "charge"]);
  const micro = (usdc = "") => BigInt(Math.round(Number(usdc) * 1_000_000));
  const balance = await world.postgres.ledger.balance(agent.accountId);
  expect(rows.reduce((sum, row) => sum + micro(row["amount_usdc"]), 0n)).toBe(balance);
  expect(micro(rows.at(-1)?.["balance_usdc"])).toBe(balance);
  await leave();
});

test("a stolen cookie opens neither the agents' door nor the console's from another origin, and nothing after signing out", async () => {
  const agent = await world.agent({ balance: 1_000_000n });
  const { page, context, leave } = await world.signedIn(agent.wallet, { expected: [/40[13]/] });
  await page.goto("");
  const [cookie] = await context.cookies();
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
  const stolen = { Cookie: `${cookie?.name}=${cookie?.value}` };
  const status = async (path: string, headers: Record<string, string>, body = "{}") => {
    const answer = await fetch(`${new URL(world.consoleUrl).origin}${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...stolen, ...headers },
      body,
    });
    return answer.status;
  };
  expect(await status("/v1/mcp/tools/call", {}, '{"tool":"get_status","params":{}}')).toBe(401);
  const list = `/console/rpc/${SessionService.typeName}/ListSessions`;
  expect(await status(list, { Origin: "https://elsewhere.example" })).toBe(403);
  const own = { Origin: new URL(world.consoleUrl).origin };
  expect(await status(list, own)).toBe(200);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in with your wallet" }).waitFor();
  expect(await status(list, own)).toBe(401);
  await leave();
});

test("a page of another origin can make the browser do nothing in the console", async () => {
  const agent = await world.agent();
  const { page, context } = await world.signedIn(agent.wallet);
  const target = `${world.consoleUrl}/rpc/toolgate.console.v1.KeyService/CreateKey`;
  const elsewhere = createServer((_request, response) => {
    response.setHeader("content-type", "text/html");
    response.end(
      `<form method="post" enctype="text/plain" action="${target}"><input name='{"name":"forged","x":"' value='"}'><button>go</button></form>`,
    );
  });
  await new Promise<void>((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
  try {
    // The same site, by the browser's measure, so that the cookie goes along: only the gateway's own check is left.
    await page.goto(`http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`);
    const told = await page.evaluate(async (url) => {
      const attempts = ["text/plain", "application/json"].map((type) =>
        fetch(url, {
          method: "POST",
          mode: type === "text/plain" ? "no-cors" : "cors",
          credentials: "include",
          headers: { "Content-Type": type },
          body: '{"name":"forged"}',
        }).then(
          ({ type: kind, ok }) => `${kind} ${ok}`,
          () => "refused",
        ),
      );
      return Promise.all(attempts);
    }, target);
    expect(told).toEqual(["opaque false", "refused"]);
    const answered = page.waitForResponse(target);
    await page.getByRole("button", { name: "go" }).click();
    expect((await answered).status()).toBeGreaterThanOrEqual(400);
  } finally {
    elsewhere.close();
  }
  const keys = await world.postgres.apiKeys.list(agent.accountId);
  expect(keys.map(({ name }) => name)).toEqual(["test"]);
  await context.close();
});

test("the first load is told as so many loads of an empty page", async () => {
  const empty = createServer((_request, response) => {
    response.setHeader("content-type", "text/html");
    response.end('<!doctype html><title>empty</title><link rel="icon" href="data:,"><h1>Empty</h1>');
  });
  await new Promise<void>((resolve) => empty.listen(0, "127.0.0.1", resolve));
  /** The least of three: noise only adds. A browser of its own each time, so that nothing is kept. */
  const loaded = async (url: string) => {
    const times: number[] = [];
    for (let count = 0; count < 3; count++) {
      const { page, context } = await world.visitor();
      const start = performance.now();
      await page.goto(url);
      await page.getByRole("heading", { level: 1 }).waitFor();
      times.push(performance.now() - start);
      await context.close();
    }
    return Math.min(...times);
  };
  try {
    const nothing = await loaded(`http://127.0.0.1:${(empty.address() as AddressInfo).port}/`);
    const console = await loaded(`${world.consoleUrl}/`);
    process.stdout.write(
      `first load of the console: ${Math.round(console)} ms, ${(console / nothing).toFixed(1)} times an empty page's ${Math.round(nothing)} ms\n`,
    );
    expect(console).toBeGreaterThan(0);
  } finally {
    empty.close();
  }
});
