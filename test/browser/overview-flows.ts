import { expect, test } from "vitest";
import { axeViolations } from "./appearance.ts";
import type { ConsoleWorld } from "./console-world.ts";

/** Tests of the overview. */
export function overviewFlows(getWorld: () => ConsoleWorld): void {
  test("checks off the first steps, shows the first paid call live and stays dismissed", async () => {
    const world = getWorld();
    const agent = await world.agent({ balance: 1_000_000n });
    const { page, closeBrowser } = await world.signedInBrowser(agent.wallet);
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
    await closeBrowser();
  });

  test("remembers per account that the first steps were dismissed", async () => {
    const world = getWorld();
    const [agent, other] = [await world.agent(), await world.agent()];
    const { page, context, closeBrowser } = await world.signedInBrowser(agent.wallet);
    await page.goto("");
    const steps = page.getByRole("region", { name: "First steps" });
    await steps.getByRole("button", { name: "Dismiss" }).click();
    await page.reload();
    await page.getByRole("heading", { name: "Usage" }).waitFor();
    expect(await steps.count()).toBe(0);
    await context.addCookies([await world.sessionCookie(other.wallet)]);
    await page.reload();
    await steps.waitFor();
    await closeBrowser();
  });
}
