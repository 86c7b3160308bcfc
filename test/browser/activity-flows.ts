import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { formatRelativeTime } from "../../src/console/format.ts";
import { query } from "../support/database-server.ts";
import { navigate, POLL, type ConsoleWorld } from "./console-world.ts";

async function pageTime(page: Page): Promise<number> {
  return Number(await page.evaluate("Date.now()"));
}

/** Makes the page hidden, as a switch of tabs does. */
async function hide(page: Page): Promise<void> {
  await page.evaluate(() => {
    const document: EventTarget = Reflect.get(globalThis, "document");
    Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
    document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
  });
}

function cells(page: Page, head: string): Promise<string[]> {
  return page.locator(`td[data-label="${head}"]`).allInnerTexts();
}

export function activityFlows(world: ConsoleWorld): void {
  test("filters receipts and runs, and restores the filter from the URL", async () => {
    const agent = await world.agent({ balance: 1_000_000n });
    const { key, secret } = await world.postgres.apiKeys.create({
      accountId: agent.accountId,
      name: "other",
      scopes: ["compute:read"],
    });
    for (const apiKey of [agent.apiKey, agent.apiKey, secret])
      await world.call({ ...agent, apiKey }, "vram_estimate", { parameters_b: 7 });
    // Recorded like code that exceeded its time limit in the sandbox.
    await query(
      world.database.url,
      `update run set outcome = 'timeout' where key_id = '${key.keyId.slice("key_".length)}'`,
    );
    const { page } = await world.signedInBrowser(agent.wallet);
    await page.goto("activity");
    const pager = (text: string) => page.getByText(text, { exact: true }).waitFor();
    await pager("3 receipts");
    await page.getByLabel("Key", { exact: true }).selectOption({ label: "other" });
    await pager("1 receipt");
    expect(new URL(page.url()).search).toBe(`?key=${key.keyId}`);
    await page.reload();
    await pager("1 receipt");
    expect(await cells(page, "Key")).toEqual(["other"]);
    expect(await cells(page, "Outcome")).toEqual(["Timed out"]);
    await page.getByRole("button", { name: "Export CSV" }).click();
    await page.getByText("Only receipts that match the filter").waitFor();
    const downloading = page.waitForEvent("download");
    await page.getByRole("link", { name: "Download CSV" }).click();
    const file = await readFile(await (await downloading).path(), "utf8");
    expect(file.trim().split(/\r?\n/)).toHaveLength(2);
    await page.getByLabel("Outcome").selectOption("succeeded");
    await page.getByText("No matching receipts").waitFor();
    await page.getByRole("button", { name: "Show all" }).click();
    await pager("3 receipts");
    await page.getByLabel("Outcome").selectOption("succeeded");
    await pager("2 receipts");
    await page.getByRole("tab", { name: "Runs" }).click();
    await pager("3 runs");
    await page.getByLabel("Status").selectOption("timeout");
    await pager("1 run");
    expect([await cells(page, "Key"), await cells(page, "Status")]).toEqual([["other"], ["Timed out"]]);
    await page.getByRole("table", { name: "Runs" }).getByRole("link").click();
    await page.getByRole("heading", { name: "Timeline" }).waitFor();
    await page.getByText("Timed out", { exact: true }).waitFor();
    await page.goBack();
    await pager("1 run");
    await page.getByLabel("Key", { exact: true }).selectOption({ label: "other" });
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
  });

  test("polls the lists while the page is visible, and shows relative times to the second", async () => {
    const agent = await world.agent({ balance: 1_000_000n });
    const call = () => world.call(agent, "vram_estimate", { parameters_b: 7 });
    await call();
    const { page } = await world.signedInBrowser(agent.wallet);
    await page.clock.install();
    await page.goto("activity?tab=runs");
    await page.getByText("1 run", { exact: true }).waitFor();
    await call();
    await page.clock.fastForward(15_000);
    await page.getByText("2 runs", { exact: true }).waitFor();
    let asked = 0;
    page.on("request", (request) => {
      if (request.url().includes("/ListRuns")) asked++;
    });
    await hide(page);
    await page.clock.fastForward(60_000);
    await navigate(page, "");
    const newest = page.getByRole("table", { name: "Recent calls" }).locator("time").first();
    await newest.waitFor();
    // The overview queries once when it opens; the hidden Activity did not.
    expect(asked).toBe(1);
    // Just after a full ten seconds, when a coarse clock is off the most.
    await page.clock.fastForward(11_000 - ((await pageTime(page)) % 10_000));
    await expect
      .poll(async () => {
        const at = Date.parse((await newest.getAttribute("datetime")) ?? "");
        const [text, now] = [await newest.textContent(), await pageTime(page)];
        const exact = [now, now - 1_000].map((time) => formatRelativeTime(new Date(at), new Date(time)));
        return exact.includes(text ?? "");
      }, POLL)
      .toBe(true);
  });
}
