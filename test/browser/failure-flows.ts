import { expect, test } from "vitest";
import type { ConsoleWorld } from "./console-world.ts";
import { testWallet } from "./wallet.ts";

/** Tests of failures and recovery. */
export function failureFlows(getWorld: () => ConsoleWorld): void {
  test("shows an error for a page that fails to load, keeps other pages working and recovers on reload", async () => {
    const world = getWorld();
    const { page, closeBrowser } = await world.signedInBrowser((await world.agent()).wallet, {
      expected: [/ERR_FAILED|thrown|error/],
    });
    await page.route(/\/assets\/keys-[^/]*\.js$/, (route) => route.abort());
    await page.goto("");
    const to = (name: string) => page.getByRole("navigation").getByRole("link", { name }).click();
    await to("Keys");
    await page.getByRole("heading", { name: "This page could not be loaded" }).waitFor();
    await to("Activity");
    await page.getByRole("heading", { name: "Activity" }).waitFor();
    await to("Keys");
    await page.unrouteAll();
    await page.getByRole("button", { name: "Reload page" }).click();
    await page.getByRole("heading", { name: "Keys" }).waitFor();
    expect(await page.getByText("could not be loaded").count()).toBe(0);
    await closeBrowser();
  });

  test("shows that the gateway cannot be reached without a network and recovers on retry", async () => {
    const world = getWorld();
    const { page, context, closeBrowser } = await world.signedInBrowser((await world.agent()).wallet, {
      expected: [/ERR_INTERNET_DISCONNECTED/],
    });
    await page.goto("deposit");
    await page.getByText("No deposits yet").waitFor();
    await page.goto("");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await context.setOffline(true);
    await page.getByRole("navigation").getByRole("link", { name: "Deposit" }).click();
    await page.getByText("The gateway cannot be reached").first().waitFor();
    await context.setOffline(false);
    await page.getByRole("button", { name: "Try again" }).first().click();
    await page.getByText("No deposits yet").waitFor();
    expect(await page.getByText("The gateway cannot be reached").count()).toBe(0);
    await closeBrowser();
  });

  test("reports a session that was ended elsewhere and returns to the same page after sign-in", async () => {
    const world = getWorld();
    const { wallet } = await world.agent();
    const { page, closeBrowser } = await world.signedInBrowser(wallet, {
      wallets: [testWallet(wallet)],
      expected: [/status of 401/],
    });
    await page.goto("");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    const other = await world.signedInBrowser(wallet);
    await other.page.goto("settings");
    await other.page.getByRole("button", { name: "Sign out everywhere" }).click();
    await other.page.getByRole("dialog").getByRole("button", { name: "Sign out everywhere" }).click();
    await other.page.getByRole("heading", { name: "Sign in with your wallet" }).waitFor();
    expect(await other.page.getByText("Your session has ended").count()).toBe(0);
    await other.closeBrowser();
    await page.getByRole("navigation").getByRole("link", { name: "Settings" }).click();
    await page.getByText("Your session has ended").waitFor();
    await page.getByRole("button", { name: "Test wallet" }).click();
    await page.getByRole("heading", { name: "Settings" }).waitFor();
    await closeBrowser();
  });

  test("keeps the playground call after Back from the receipt and clears it at sign-out", async () => {
    const world = getWorld();
    const { wallet } = await world.agent({ balance: 10_000n });
    const { page, closeBrowser } = await world.signedInBrowser(wallet, { wallets: [testWallet(wallet)] });
    await page.goto("playground?tool=vram_estimate");
    await page.getByRole("button", { name: "Create a temporary key" }).click();
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("link", { name: "View receipt" }).click();
    await page.getByRole("heading", { name: "Receipt" }).first().waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "Call details" }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Test wallet" }).click();
    await page.getByRole("button", { name: "Create a temporary key" }).waitFor();
    expect(await page.getByText("No calls yet").count()).toBe(1);
    await closeBrowser();
  });
}
