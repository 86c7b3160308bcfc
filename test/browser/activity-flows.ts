import { expect, test } from "vitest";
import type { ConsoleWorld } from "./console-world.ts";

/** Tests of the activity page. */
export function activityFlows(getWorld: () => ConsoleWorld): void {
  test("filters receipts and runs, and restores the filter from the URL", async () => {
    const world = getWorld();
    const agent = await world.agent({ balance: 1_000_000n });
    const { key, secret } = await world.postgres.apiKeys.create({
      accountId: agent.accountId,
      name: "other",
      scopes: ["compute:read"],
    });
    for (const apiKey of [agent.apiKey, agent.apiKey, secret])
      await world.call({ ...agent, apiKey }, "vram_estimate", { parameters_b: 7 });
    const { page, closeBrowser } = await world.signedInBrowser(agent.wallet);
    await page.goto("activity");
    const pager = (text: string) => page.getByText(text, { exact: true }).waitFor();
    await pager("3 receipts");
    await page.getByLabel("Key", { exact: true }).selectOption({ label: "other" });
    await pager("1 receipt");
    expect(new URL(page.url()).search).toBe(`?key=${key.keyId}`);
    await page.reload();
    await pager("1 receipt");
    await page.getByRole("tab", { name: "Runs" }).click();
    await pager("1 run");
    await page.getByLabel("Status").selectOption("failed");
    await page.getByText("No matching runs").waitFor();
    expect(new URL(page.url()).search).toBe(`?tab=runs&status=failed&key=${key.keyId}`);
    await page.getByRole("button", { name: "Show all" }).click();
    await pager("3 runs");
    const today = new Date().toISOString().slice(0, 10);
    await page.getByLabel("From (UTC day)").fill("2026-01-02");
    await page.getByLabel("To (UTC day)").fill("2026-01-01");
    await page.getByText("The first day is after the last day.").waitFor();
    await page.getByLabel("From (UTC day)").fill(today);
    await page.getByLabel("To (UTC day)").fill(today);
    await pager("3 runs");
    await page.goto("activity?tab=runs&status=nonsense&from=2026-02-30&tool=echo");
    await page.getByText("No matching runs").waitFor();
    expect(await page.getByLabel("Tool", { exact: true }).inputValue()).toBe("echo");
    expect(await page.getByLabel("From (UTC day)").inputValue()).toBe("");
    await closeBrowser();
  });
}
