import { expect, test } from "vitest";
import type { ConsoleWorld } from "./console-world.ts";
import { testWallet } from "./wallet.ts";

/** What people see when something goes wrong around them, and that they get on from there. */
export function failureFlows(getWorld: () => ConsoleWorld): void {
  test("a page that cannot be fetched is said to be, the others go on, and it is there after loading again", async () => {
    const world = getWorld();
    const { page, closeBrowser } = await world.signedInBrowser((await world.agent()).wallet, {
      expected: [/ERR_FAILED|thrown|error/],
    });
    await page.route(/\/assets\/keys-[^/]*\.js$/, (route) => route.abort());
    await page.goto("");
    const to = (name: string) => page.getByRole("navigation").getByRole("link", { name }).click();
    await to("Keys");
    await page.getByRole("heading", { name: "This page could not be shown" }).waitFor();
    await to("Activity");
    await page.getByRole("heading", { name: "Activity" }).waitFor();
    await to("Keys");
    await page.unrouteAll();
    await page.getByRole("button", { name: "Load the page again" }).click();
    await page.getByRole("heading", { name: "Keys" }).waitFor();
    expect(await page.getByText("could not be shown").count()).toBe(0);
    await closeBrowser();
  });

  test("without a network a page says that the gateway cannot be reached, and shows what there is once it can", async () => {
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

  test("a session that was ended elsewhere is said to have, and the next one goes on at the same page", async () => {
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

  test("what happened in the playground is still there after a look at the receipt, and gone with the session", async () => {
    const world = getWorld();
    const { wallet } = await world.agent({ balance: 10_000n });
    const { page, closeBrowser } = await world.signedInBrowser(wallet, { wallets: [testWallet(wallet)] });
    await page.goto("playground?tool=vram_estimate");
    await page.getByRole("button", { name: "Make a playground key" }).click();
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("link", { name: "Open the receipt" }).click();
    await page.getByRole("heading", { name: "Receipt" }).first().waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "What happened" }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Test wallet" }).click();
    await page.getByRole("button", { name: "Make a playground key" }).waitFor();
    expect(await page.getByText("Nothing was called yet").count()).toBe(1);
    await closeBrowser();
  });
}
