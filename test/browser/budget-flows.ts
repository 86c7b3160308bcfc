import { Keypair } from "@solana/web3.js";
import { expect, test } from "vitest";
import type { ConsoleWorld } from "./console-world.ts";
import { overflow } from "./layout.ts";

export function budgetFlows(world: ConsoleWorld): void {
  test("edits a key in place, and adds it to a group whose budget it shares", async () => {
    const { page } = await world.signedInBrowser(Keypair.generate());
    await page.goto("keys?create");
    await page.getByLabel("Name").fill("builds");
    await page.getByLabel("Monthly limit").fill("5");
    await page.getByLabel("Warn at").fill("0");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByText("Enter a whole number from 1 to 100").waitFor();
    await page.getByLabel("Warn at").fill("90");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByRole("button", { name: "I have saved it" }).click();
    const row = page.getByRole("table", { name: "API keys" }).getByRole("row").last();
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

    await page.getByRole("button", { name: "Delete CI" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("Keys in a group share its limits").waitFor();
  });
}
