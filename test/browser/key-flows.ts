import { Keypair } from "@solana/web3.js";
import { expect, test } from "vitest";
import { secret } from "../support/record.ts";
import { POLL, type ConsoleWorld } from "./console-world.ts";
import { overflow } from "./layout.ts";

export const LONG_NAME = "long_name_".repeat(10);

export function keyFlows(world: ConsoleWorld): void {
  test("shows a new key until it is saved, accepts it from agents and rejects it once revoked", async () => {
    const agent = await world.agent();
    const { page } = await world.signedInBrowser(agent.wallet);
    await page.goto("keys");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByLabel("Name").fill("From outside");
    await page.getByRole("button", { name: "Create key" }).click();
    const shown = page.getByRole("region", { name: "API key" });
    const apiKey = secret("an API key", (await shown.textContent())?.trim() ?? "");
    await page.keyboard.press("Escape");
    const places = page.getByRole("navigation", { name: "Console" });
    await places.getByRole("link", { name: "Overview" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await places.getByRole("link", { name: "Keys" }).click();
    expect((await shown.textContent())?.trim()).toBe(apiKey);

    const outside = { ...agent, apiKey };
    expect(await world.call(outside, "get_status", {})).toMatchObject({ status: 200 });
    await page.getByRole("button", { name: "I have saved it" }).click();
    await page.getByRole("button", { name: "Revoke From outside" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
    await expect.poll(async () => (await world.call(outside, "get_status", {})).status, POLL).toBe(401);
    expect(await page.content()).not.toContain(apiKey);
  });

  test("keeps a new key with a long name and a daily limit in place until it is saved", async () => {
    const { page } = await world.signedInBrowser(Keypair.generate());
    await page.goto("");
    await page.getByRole("link", { name: "Create a key" }).click();
    await page.getByLabel("Name").fill(LONG_NAME);
    await page.getByLabel("Daily limit").fill("2");
    await page.getByText("No API keys yet").waitFor();
    expect(await page.getByRole("button", { name: "Create a key" }).count()).toBe(0);
    await page.getByRole("button", { name: "Create key" }).click();

    // The copy button stands beside the text, also where a line is as wide as the box.
    for (const label of ["API key", "curl command"]) {
      const text = await page.getByRole("region", { name: label }).boundingBox();
      const copy = await page.getByRole("button", { name: `Copy ${label}` }).boundingBox();
      expect(copy?.x, label).toBeGreaterThanOrEqual((text?.x ?? 0) + (text?.width ?? Infinity));
    }
    await page.getByRole("navigation").getByRole("link", { name: "Activity" }).click();
    await page.getByText(`The key “${LONG_NAME}” is not saved yet`).waitFor();
    await page.getByRole("link", { name: "Show the key" }).click();
    expect(await overflow(page)).toBe(0);
    await page.getByRole("button", { name: "I have saved it" }).click();
    const row = page.getByRole("table", { name: "API keys" }).getByRole("row").last();
    expect(await row.getByText(LONG_NAME).getAttribute("title")).toBe(LONG_NAME);
    // The name takes the room that the other columns leave.
    expect((await row.getByText(LONG_NAME).boundingBox())?.width).toBeGreaterThan(240);
    expect(await row.innerText()).toContain("$0.00 of $2.00");
    expect(await row.innerText()).toContain("$2.00 left today");
    expect(await overflow(page)).toBe(0);
  });

  test("stops the old key immediately when rotation asks for it", async () => {
    const agent = await world.agent();
    const { page } = await world.signedInBrowser(agent.wallet);
    await page.goto("keys");
    await page.getByRole("button", { name: "Rotate test" }).click();
    await page.getByLabel("Old key").selectOption({ label: "Stops immediately" });
    await page.getByRole("dialog").getByRole("button", { name: "Rotate" }).click();
    const shown = await page.getByRole("region", { name: "API key" }).textContent();
    const rotated = { ...agent, apiKey: secret("an API key", shown?.trim() ?? "") };
    expect(await world.call(rotated, "get_status", {})).toMatchObject({ status: 200 });
    await expect.poll(async () => (await world.call(agent, "get_status", {})).status, POLL).toBe(401);
    await page.getByRole("button", { name: "I have saved it" }).click();
    await page.getByRole("button", { name: "Show 1 inactive key" }).click();
    expect(await page.getByRole("table").last().textContent()).toContain("test");
  });
}
