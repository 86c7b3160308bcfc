import { expect, test } from "vitest";
import { navigate, POLL, type ConsoleWorld } from "./console-world.ts";
import { overflow } from "./layout.ts";

export function budgetFlows(world: ConsoleWorld): void {
  test("edits a key in place, and adds it to a group whose budget it shares", async () => {
    const agent = await world.agent({ balance: 1_000_000n });
    const { page } = await world.signedInBrowser(agent.wallet, { expected: [/status of 400/] });
    await page.goto("keys?create");
    await page.getByLabel("Name").fill("builds");
    await page.getByLabel("Monthly limit").fill("5");
    await page.getByLabel("Warn at").fill("0");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByText("Enter a whole number from 1 to 100").waitFor();
    await page.getByLabel("Warn at").fill("90");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByRole("button", { name: "I have saved it" }).click();
    const keys = page.getByRole("table", { name: "API keys" });
    const row = keys.getByRole("row", { name: /builds/ });
    await row.getByText("$5.00 left this month").waitFor();

    await page.getByRole("button", { name: "Create group" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("CI");
    await dialog.getByLabel("Limit in all").fill("20");
    await dialog.getByRole("button", { name: "Save group" }).click();
    const group = page.getByRole("table", { name: "Groups of keys" }).getByRole("row").last();
    await group.getByText("$20.00 left in all").waitFor();

    await page.getByRole("button", { name: "Edit builds" }).click();
    await page.getByLabel("Name").fill("nightly builds");
    expect(await page.getByLabel("Monthly limit").inputValue()).toBe("5.00");
    await page.getByLabel("Monthly limit").fill("");
    await page.getByLabel("Daily limit").fill("2.50");
    await page.getByLabel("Group", { exact: true }).selectOption({ label: "CI" });
    await page.getByRole("button", { name: "Save key" }).click();
    await row.getByText("$2.50 left today").waitFor();
    expect(await row.innerText()).toContain("group CI");
    expect(await row.innerText()).not.toContain("this month");
    await group.getByText("1 key").waitFor();
    for (const width of [320, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await overflow(page), `${width} px`).toBe(0);
    }

    await page.getByRole("button", { name: "Edit nightly builds" }).click();
    await page.getByLabel("Daily limit").fill("3");
    const edited = (await world.postgres.apiKeys.list(undefined)).find(
      ({ name }) => name === "nightly builds",
    );
    const [keyId = "", accountId] = [edited?.keyId, edited?.accountId];
    const other = { name: undefined, group: undefined, limits: { perMonth: 7_000_000n } };
    await world.postgres.apiKeys.update({ keyId, accountId, ...other });
    await page.getByRole("button", { name: "Save key" }).click();
    await page.getByText("These limits were changed meanwhile: close this form and edit again").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await row.getByText("$7.00 left this month").waitFor();

    // The limit of the group refuses a key that has none itself.
    await group.getByRole("button", { name: "Edit CI" }).click();
    await dialog.getByLabel("Daily limit").fill("0.002");
    await dialog.getByRole("button", { name: "Save group" }).click();
    await page.getByRole("button", { name: "Edit test" }).click();
    await page.getByLabel("Group", { exact: true }).selectOption({ label: "CI" });
    await page.getByRole("button", { name: "Save key" }).click();
    const shared = keys.getByRole("row", { name: /^test / });
    await shared.getByText("$0.002 left today").waitFor();
    const limited = () => world.call(agent, "vram_estimate", { parameters_b: 7 });
    await expect.poll(async () => (await limited()).status, POLL).toBe(403);
    await navigate(page, "");
    await page
      .getByText(/^Paid calls of the keys of the group “CI” are refused until \d{4}-.* 00:00:00 UTC\.$/)
      .waitFor();
    await navigate(page, "activity?tab=requests");
    const refused = page.getByRole("table", { name: "Requests" }).getByRole("row", { name: /FORBIDDEN/ });
    await refused.locator(".row-link").first().click();
    await page.getByText(/^A limit of the key or its group refused the call,/).waitFor();
    await navigate(page, "keys");

    await page.getByRole("button", { name: "Delete CI" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("Keys in a group share its limits").waitFor();
  });
}
