import { expect, test } from "vitest";
import { query } from "../support/database-server.ts";
import { navigate, type ConsoleWorld } from "./console-world.ts";
import { testWallet } from "./wallet.ts";

export function settingsFlows(world: ConsoleWorld): void {
  test("ends a session from another one, and all sessions together", async () => {
    const { wallet } = await world.agent();
    const options = { wallets: [testWallet(wallet)], expected: [/status of 401/] };
    const [first, second] = [
      await world.signedInBrowser(wallet, options),
      await world.signedInBrowser(wallet, options),
    ];
    await second.page.goto("settings");
    await first.page.goto("settings");
    const end = first.page.getByRole("button", { name: "End session", exact: true });
    await expect.poll(() => end.count()).toBe(1);
    await end.click();
    await first.page.getByText("Session ended").waitFor();
    const thrownOut = second.page.getByRole("heading", { name: "Sign in with your wallet" });
    await navigate(second.page, "keys");
    await thrownOut.waitFor();
    await second.page.getByRole("button", { name: "Test wallet" }).click();
    await second.page.getByRole("heading", { name: "Keys", level: 1 }).waitFor();

    await first.page.getByRole("button", { name: "Sign out everywhere" }).click();
    await first.page.getByRole("dialog").getByRole("button", { name: "Sign out everywhere" }).click();
    await first.page.getByRole("heading", { name: "Sign in with your wallet" }).waitFor();
    await navigate(second.page, "deposit");
    await thrownOut.waitFor();
  });

  test("keeps the selected theme on the device across reloads", async () => {
    const { page } = await world.signedInBrowser((await world.agent()).wallet, { colorScheme: "light" });
    const paper = () =>
      page.evaluate("getComputedStyle(document.documentElement).backgroundColor").then(String);
    await page.goto("settings");
    await page.getByRole("radio", { name: "System" }).waitFor();
    const light = await paper();
    await page.getByText("Dark", { exact: true }).click();
    await expect.poll(paper).not.toBe(light);
    await page.reload();
    await page.getByRole("radio", { name: "Dark" }).waitFor();
    expect(await paper()).not.toBe(light);
    await page.getByText("System", { exact: true }).click();
    await expect.poll(paper).toBe(light);
  });

  test("warns when the balance is below the configured threshold", async () => {
    const agent = await world.agent({ balance: 2_000_000n });
    const { page } = await world.signedInBrowser(agent.wallet);
    const warning = page.getByText("The balance is low");
    await page.goto("");
    await page.getByText("Reserved", { exact: true }).waitFor();
    expect(await warning.count()).toBe(0);
    await navigate(page, "settings");
    const account = `select rate_per_minute, burst from account
    where id = '${agent.accountId.slice("acct_".length)}'`;
    const [limits] = (await query(world.database.url, account)).rows;
    const [rate, burst] = [limits.rate_per_minute, limits.burst].map((limit) =>
      Number(limit).toLocaleString("en-US"),
    );
    await page.getByText(`${rate} requests/min, bursts of ${burst}`, { exact: true }).waitFor();
    await page.getByText(/ms of computing time\/min, bursts of [\d,]+ ms; paid calls take none$/).waitFor();
    await page.getByLabel("Warn below").fill("2.000001");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved").waitFor();
    await navigate(page, "");
    await warning.waitFor();
  });
}
