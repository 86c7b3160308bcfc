import { expect, test } from "vitest";
import type { ConsoleWorld } from "./console-world.ts";

/** How people find what their keys did. */
export function activityFlows(getWorld: () => ConsoleWorld): void {
  test("receipts and runs are narrowed, and the address that has it can be opened again", async () => {
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
    await pager("3 receipts, all of them");
    await page.getByLabel("Key", { exact: true }).selectOption({ label: "other" });
    await pager("1 receipt, all of them");
    expect(new URL(page.url()).search).toBe(`?key=${key.keyId}`);
    await page.reload();
    await pager("1 receipt, all of them");
    await page.getByRole("tab", { name: "Runs" }).click();
    await pager("1 run, all of them");
    await page.getByLabel("Status").selectOption("failed");
    await page.getByText("No runs like that").waitFor();
    expect(new URL(page.url()).search).toBe(`?tab=runs&status=failed&key=${key.keyId}`);
    await page.getByRole("button", { name: "Show all" }).click();
    await pager("3 runs, all of them");
    const today = new Date().toISOString().slice(0, 10);
    await page.getByLabel("From (UTC day)").fill("2026-01-02");
    await page.getByLabel("To (UTC day)").fill("2026-01-01");
    await page.getByText("The first day is after the last one.").waitFor();
    await page.getByLabel("From (UTC day)").fill(today);
    await page.getByLabel("To (UTC day)").fill(today);
    await pager("3 runs, all of them");
    await page.goto("activity?tab=runs&status=nonsense&from=2026-02-30&tool=echo");
    await page.getByText("No runs like that").waitFor();
    expect(await page.getByLabel("Tool", { exact: true }).inputValue()).toBe("echo");
    expect(await page.getByLabel("From (UTC day)").inputValue()).toBe("");
    await closeBrowser();
  });
}
