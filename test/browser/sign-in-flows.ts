import type { Route } from "playwright-core";
import { expect, test } from "vitest";
import { navigate, type ConsoleWorld } from "./console-world.ts";
import { ledgerWallet, testWallet, walletWithoutSignIn } from "./wallet.ts";

export function signInFlows(world: ConsoleWorld): void {
  test("signs in with a wallet, stays signed in after a reload and signs out in all tabs", async () => {
    const agent = await world.agent();
    const wallet = testWallet(agent.wallet);
    const { page, context } = await world.browserFor({ wallets: [wallet] });
    await page.goto("");
    await page.getByRole("button", { name: "Test wallet" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    expect(wallet.requests).toEqual(["signIn"]);
    await page.reload();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    const tab = await context.newPage();
    await tab.goto("settings");
    await tab.getByText("This session").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in with your wallet" }).waitFor();
    await tab.getByRole("heading", { name: "Sign in with your wallet" }).waitFor();
    expect(await tab.locator("body").innerText()).not.toContain(
      agent.wallet.publicKey.toBase58().slice(0, 5),
    );
    await page.getByRole("button", { name: "Test wallet" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await tab.getByRole("heading", { name: "Settings" }).waitFor();
  });

  test("signs in by message without signIn support, and by transaction with a Ledger", async () => {
    const [plain, onLedger] = [
      walletWithoutSignIn((await world.agent()).wallet),
      ledgerWallet((await world.agent()).wallet),
    ];
    const { page } = await world.browserFor({ wallets: [plain, onLedger] });
    await page.goto("");
    await page.getByRole("button", { name: "Plain wallet" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    expect(plain.requests).toEqual(["signMessage"]);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Ledger" }).click();
    await page.getByRole("button", { name: "Sign a transaction instead" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    expect(onLedger.requests).toEqual(["signTransaction"]);
  });

  test("reports a rejected signature and starts no session", async () => {
    const wallet = testWallet((await world.agent()).wallet, { rejects: true });
    const { page, context } = await world.browserFor({ wallets: [wallet] });
    await page.goto("");
    await page.getByRole("button", { name: "Test wallet" }).click();
    await page.getByText("You rejected the request in Test wallet").waitFor();
    expect(await context.cookies()).toEqual([]);
    wallet.rejects = false;
    await page.getByRole("button", { name: "Test wallet" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  });

  test("cancels pending requests at sign-out, and ignores their late responses", async () => {
    const [first, next] = [await world.agent(), await world.agent()];
    const wallets = [testWallet(first.wallet, { name: "First" }), testWallet(next.wallet, { name: "Next" })];
    const { page, context } = await world.browserFor({ wallets });
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const late: Promise<void>[] = [];
    const answer = async (route: Route) => route.fulfill({ response: await route.fetch() });
    // The response arrives after the session ended on the server, but before the page knows.
    await context.route(/ListKeys/, (route) => late.push(held.then(() => answer(route)).catch(() => {})));
    await context.route(/SignOut/, async (route) => {
      const response = await route.fetch();
      release();
      await Promise.all(late);
      await route.fulfill({ response });
    });
    await page.goto("");
    await page.getByRole("button", { name: "First" }).click();
    await navigate(page, "keys");
    await expect.poll(() => late.length).toBeGreaterThan(0);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Next" }).waitFor();
    await context.unroute(/ListKeys/);
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByRole("heading", { name: "Keys", level: 1 }).waitFor();
    expect(await page.getByText("Your session has ended").count()).toBe(0);
  });

  test("shows neither balance nor secret of the previous session", async () => {
    const [rich, next] = [await world.agent({ balance: 7_770_001n }), await world.agent()];
    const wallets = [testWallet(rich.wallet, { name: "Rich" }), testWallet(next.wallet, { name: "Next" })];
    const { page, context } = await world.browserFor({ wallets });
    await page.goto("");
    await page.getByRole("button", { name: "Rich" }).click();
    await page.getByText("$7.770001").first().waitFor();
    await navigate(page, "keys");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByLabel("Name").fill("Previous key");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByRole("region", { name: "API key" }).waitFor();
    const sent: string[] = [];
    page.on("request", (request) => sent.push(new URL(request.url()).pathname.split("/").at(-1) ?? ""));
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Next" }).waitFor();
    // Any other request would be rejected.
    expect(sent).toEqual(["SignOut"]);
    // New requests stay unanswered, so only cached data could be shown.
    let answer = () => {};
    const held = new Promise<void>((resolve) => (answer = resolve));
    await context.route(/(BalanceService|KeyService|HistoryService)/, (route) =>
      held.then(() => route.continue()),
    );
    await page.getByRole("button", { name: "Next" }).click();
    for (const place of ["Overview", "Keys"]) {
      await page.getByRole("navigation", { name: "Console" }).getByRole("link", { name: place }).click();
      await page.getByRole("heading", { name: place, level: 1 }).waitFor();
      const seen = await page.locator("body").innerText();
      expect(seen).not.toMatch(/7\.77|Previous key|sk-agent-/);
    }
    answer();
    await page.getByRole("table", { name: "API keys" }).waitFor();
    expect(await page.locator("body").innerText()).not.toContain("Previous key");
  });
}
