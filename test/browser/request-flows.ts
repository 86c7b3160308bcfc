import { expect, test } from "vitest";
import type { ConsoleWorld } from "./console-world.ts";

export function requestFlows(world: ConsoleWorld): void {
  test("shows requests live, and one with its params, by keyboard", async () => {
    const agent = await world.agent({ balance: 1_000_000n });
    const { page } = await world.signedInBrowser(agent.wallet);
    await page.goto("settings");
    await page.getByLabel("Store params and results").selectOption({ label: "Of all calls, free ones too" });
    await page.getByText("Saved").waitFor();
    await page.goto("activity?tab=requests");
    await page.getByText("No requests yet").waitFor();
    await page.getByLabel("Live").focus();
    await page.keyboard.press("Space");
    await world.call(agent, "vram_estimate", { parameters_b: 7 });
    await world.call(agent, "vram_estimate", { parameters_b: "many" });
    await page.getByText("2 requests", { exact: true }).waitFor();
    await page.getByLabel("Status").selectOption("succeeded");
    await page.getByText("1 request", { exact: true }).waitFor();
    await page.getByRole("table", { name: "Requests" }).getByRole("link").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "params as JSON" }).getByText('"parameters_b": 7').waitFor();
    expect(await page.getByRole("region", { name: "curl snippet" }).textContent()).toContain("parameters_b");
    await page.getByRole("tab", { name: "Python" }).click();
    await page.getByRole("region", { name: "Python snippet" }).waitFor();
    await page.getByRole("link", { name: "Open in playground" }).click();
    await expect.poll(() => page.getByLabel(/parameters_b/).inputValue()).toBe("7");
    await page.goBack();
    await page.goBack();
    expect(await page.getByLabel("Live").isChecked()).toBe(true);
    await page.goForward();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete request" }).click();
    await page.getByText("1 request", { exact: true }).waitFor();
    await page.goto("settings");
    await page.getByRole("button", { name: "Delete all requests" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete all requests" }).click();
    await page.getByText("1 request deleted").waitFor();
  });
}
