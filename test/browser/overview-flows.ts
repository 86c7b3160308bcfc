import { expect, test } from "vitest";
import { query } from "../support/database-server.ts";
import { axeViolations } from "./appearance.ts";
import { waitUntilLoaded, type ConsoleWorld } from "./console-world.ts";

export function overviewFlows(world: ConsoleWorld): void {
  test("checks off the first steps, shows the first paid call live and stays dismissed", async () => {
    const agent = await world.agent({ balance: 1_000_000n });
    const { page } = await world.signedInBrowser(agent.wallet);
    await page.goto("");
    const steps = page.getByRole("region", { name: "First steps" });
    const done = () => steps.getByRole("heading", { name: "(done)" }).count();
    await steps.getByText("Waiting for the first paid call.").waitFor();
    await expect.poll(done).toBe(3);
    expect(await steps.getByLabel("first call", { exact: true }).textContent()).toContain(
      '{"tool":"vram_estimate"',
    );
    await world.call(agent, "vram_estimate", { model: "llama-3.1-8b" });
    await steps.getByRole("link", { name: "vram_estimate, $0.001" }).waitFor();
    expect(await done()).toBe(4);
    expect(await axeViolations(page)).toEqual([]);
    await steps.getByRole("button", { name: "Dismiss" }).click();
    await expect.poll(() => steps.count()).toBe(0);
  });

  test("stacks usage, opens the calls behind a value, and shows any days, by keyboard", async () => {
    const agent = await world.agent({ balance: 1_000_000n });
    await world.call(agent, "vram_estimate", { model: "llama-3.1-8b" });
    await world.call(agent, "vram_estimate", { model: "llama-3.1-8b" });
    await world.call(agent, "vram_estimate", { parameters_b: "many" });
    const logged = `select count(*) from request_log where account_id = '${agent.accountId.slice(5)}'
      and code = 'INVALID_REQUEST'`;
    await expect.poll(async () => (await query(world.database.url, logged)).rows[0]?.count).toBe("1");
    const { page } = await world.signedInBrowser(agent.wallet);
    await page.goto("?span=24h&measure=calls&by=tool");
    const usage = page.getByRole("region", { name: "Usage", exact: true });
    await usage.getByText("2 calls for $0.002").waitFor();
    const open = async () => {
      await usage.getByText("Show as table").focus();
      await page.keyboard.press("Enter");
    };
    await open();
    const table = usage.getByRole("table", { name: /^Charged calls by hour, last 24 hours/ });
    await table.getByRole("columnheader", { name: "vram_estimate" }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await usage.getByLabel("Latency").check();
    await usage.getByRole("list", { name: "Series" }).getByText("95th percentile").waitFor();
    await usage.getByText(/median, .* 95th percentile/).waitFor();
    await usage.getByLabel("Errors").check();
    await usage.getByText("1 failed or refused · 33.3 % of calls, not charged").waitFor();
    expect(await usage.getByLabel("Stacked by").inputValue()).toBe("code");
    await usage.getByLabel("Spend").check();
    await usage.getByLabel("12m").check();
    await waitUntilLoaded(page);
    await open();
    const months = usage.getByRole("table", { name: "Spent by month, last 12 months" });
    await months.waitFor();
    expect(await months.getByRole("row").count()).toBe(13);
    await usage.getByLabel("Local").check();
    await usage.getByText("America/New_York").waitFor();
    const today = new Date().toISOString().slice(0, 10);
    await usage.getByLabel("custom").check();
    await usage.getByLabel("First day").fill("2024-01-01");
    await usage.getByLabel("Last day").fill(today);
    await usage.getByText("At most 366 days.").waitFor();
    const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    await usage.getByLabel("First day").fill(yesterday);
    await usage.getByRole("button", { name: "Show", exact: true }).press("Enter");
    await usage.getByText(`${yesterday} to ${today}, America/New_York`).waitFor();
    await open();
    await usage
      .getByRole("table", { name: /^Spent by hour/ })
      .getByRole("link", { name: "$0.002" })
      .press("Enter");
    await page.getByText("2 receipts", { exact: true }).waitFor();
    expect(await page.getByLabel("Tool").inputValue()).toBe("vram_estimate");
  });

  test("remembers per account that the first steps were dismissed", async () => {
    const [agent, other] = [await world.agent(), await world.agent()];
    const { page, context } = await world.signedInBrowser(agent.wallet);
    await page.goto("");
    const steps = page.getByRole("region", { name: "First steps" });
    await steps.getByRole("button", { name: "Dismiss" }).click();
    await page.reload();
    await page.getByRole("heading", { name: "Usage" }).waitFor();
    expect(await steps.count()).toBe(0);
    await context.addCookies([await world.sessionCookie(other.wallet)]);
    await page.reload();
    await steps.waitFor();
  });
}
