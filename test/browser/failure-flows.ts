import { expect, test } from "vitest";
import { query } from "../support/database-server.ts";
import { navigate, type ConsoleWorld } from "./console-world.ts";
import { testWallet } from "./wallet.ts";

export function failureFlows(world: ConsoleWorld): void {
  test("loads a page that failed again on navigation, when the network returns and on reload", async () => {
    const agent = await world.agent({ balance: 1_000n });
    await world.call(agent, "vram_estimate", { parameters_b: 7 });
    const { page, context } = await world.signedInBrowser(agent.wallet, {
      expected: [/ERR_FAILED|ERR_INTERNET_DISCONNECTED|thrown|error/],
    });
    await page.route(/\/assets\/keys-[^/]*\.js$/, (route) => route.abort());
    await page.goto("");
    const to = (name: string) => page.getByRole("navigation").getByRole("link", { name }).click();
    const heading = (name: string) => page.getByRole("heading", { name, level: 1 }).waitFor();
    const failed = "This page could not be loaded";
    await to("Keys");
    await heading(failed);
    await to("Activity");
    await heading("Activity");
    await page.unrouteAll();
    await to("Keys");
    await heading("Keys");

    await context.setOffline(true);
    await to("Playground");
    await heading(failed);
    await context.setOffline(false);
    await page.getByRole("button", { name: "Create a temporary key" }).waitFor();
    // The page has its styles, too.
    await expect.poll(() => page.locator(".play-side").first().evaluate(gridAlignment)).toBe("start");

    // The chart is a script of its own.
    await page.route(/\/assets\/chart-[^/]*\.js$/, (route) => route.abort());
    await to("Overview");
    await heading(failed);
    await page.unrouteAll();
    await to("Keys");
    await to("Overview");
    await page.getByText("Show as table").click();
    await page.getByRole("table", { name: /^Spent by/ }).waitFor();

    await page.route(/\/assets\/settings-[^/]*\.js$/, (route) => route.abort());
    await to("Settings");
    await heading(failed);
    await page.unrouteAll();
    await page.getByRole("button", { name: "Reload page" }).click();
    await heading("Settings");
  });

  test("tells a missing network from a failure of the gateway and recovers with the network", async () => {
    const { page, context } = await world.signedInBrowser((await world.agent()).wallet, {
      expected: [/ERR_INTERNET_DISCONNECTED/, /status of 500/],
    });
    await page.goto("deposit");
    await page.getByText("No deposits yet").waitFor();
    await page.goto("");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await context.setOffline(true);
    await page.getByRole("navigation").getByRole("link", { name: "Deposit" }).click();
    await page.getByText("The gateway cannot be reached").first().waitFor();
    await context.setOffline(false);
    await page.getByText("No deposits yet").waitFor();
    expect(await page.getByText("The gateway cannot be reached").count()).toBe(0);

    await page.route(/GetBalance/, (route) => route.fulfill({ status: 500, body: "no" }));
    await page.goto("");
    await page.getByText("The gateway failed").waitFor();
    expect(await page.getByText("Check the connection").count()).toBe(0);
  });

  test("reports a session that was ended elsewhere and returns to the same page after sign-in", async () => {
    const { wallet, accountId } = await world.agent();
    const { page } = await world.signedInBrowser(wallet, {
      wallets: [testWallet(wallet)],
      expected: [/status of 401/],
    });
    await page.clock.install();
    await page.goto("");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    // Until the click below the page does not check its session by itself.
    await page.clock.pauseAt(Date.now() + 1_000);
    const other = await world.signedInBrowser(wallet);
    await other.page.goto("settings");
    await other.page.getByRole("button", { name: "Sign out everywhere" }).click();
    await other.page.getByRole("dialog").getByRole("button", { name: "Sign out everywhere" }).click();
    await other.page.getByRole("heading", { name: "Sign in with your wallet" }).waitFor();
    expect(await other.page.getByText("Your session has ended").count()).toBe(0);
    await other.closeBrowser();
    await page.getByRole("navigation").getByRole("link", { name: "Settings" }).click();
    await page.clock.resume();
    await page.getByText("Your session has ended").waitFor();
    await page.getByRole("button", { name: "Test wallet" }).click();
    await page.getByRole("heading", { name: "Settings" }).waitFor();
    // The page checks its session while it is visible, so it ends without a click.
    await page.getByText("This session").waitFor();
    await navigate(page, "keys?create");
    const name = page.getByLabel("Name");
    await name.fill("Half written");
    await navigate(page, "settings");
    await page.getByText("This session").waitFor();
    await page.goBack();
    expect(await name.inputValue()).toBe("Half written");
    await query(world.database.url, `delete from console_session where account_id = '${accountId.slice(5)}'`);
    await page.clock.fastForward(30_000);
    await page.getByText("Your session has ended").waitFor();
    await page.getByRole("button", { name: "Test wallet" }).click();
    await expect.poll(() => name.inputValue()).toBe("Half written");
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Create key" }).click();
    expect(await name.inputValue()).toBe("");
  });
}

/** Runs in the page. */
function gridAlignment(element: unknown): string {
  const { getComputedStyle } = globalThis as unknown as {
    getComputedStyle(of: unknown): { alignContent: string };
  };
  return getComputedStyle(element).alignContent;
}
