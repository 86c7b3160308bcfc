import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { axeViolations } from "./appearance.ts";
import type { ConsoleWorld } from "./console-world.ts";
import { testWallet } from "./wallet.ts";

async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  for (let count = 0; count < 80; count++) {
    if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`the Tab key does not lead to ${target.toString()}`);
}

export function keyboardFlows(world: ConsoleWorld): void {
  test("supports sign-in, key creation and deposit by keyboard alone", async () => {
    const agent = await world.agent();
    const { page } = await world.browserFor({ wallets: [testWallet(agent.wallet)] });
    const press = async (target: Locator) => {
      await tabTo(page, target);
      await page.keyboard.press("Enter");
    };
    const write = async (label: string, text: string) => {
      await tabTo(page, page.getByLabel(label));
      await page.keyboard.press("Control+a");
      await page.keyboard.type(text);
    };
    const button = (name: string) => page.getByRole("button", { name, exact: true });
    const place = (name: string) =>
      page.getByRole("navigation", { name: "Console" }).getByRole("link", { name });
    await page.goto("");
    await press(button("Test wallet"));
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await press(place("Keys"));
    await press(button("Create key"));
    await write("Name", "By keyboard");
    await press(button("Create key"));
    await press(button("I have saved it"));
    await page.getByText("By keyboard").waitFor();
    await press(place("Deposit"));
    await write("Amount in USDC", "1.5");
    await page.keyboard.press("Enter");
    await press(button("Test wallet"));
    await press(button("Pay $1.50"));
    await page.getByText("Credited to your balance").waitFor();
    expect(await world.postgres.ledger.balance(agent.accountId)).toBe(1_500_000n);
  });

  test("finds pages and the account's own records with Ctrl-K and the keyboard alone", async () => {
    const [agent, other] = await Promise.all([
      world.agent({ balance: 1_000_000n }),
      world.agent({ balance: 1_000_000n }),
    ]);
    const call = (buyer: typeof agent) => world.call(buyer, "vram_estimate", { model: "llama-3.1-8b" });
    const [own, foreign] = [await call(agent), await call(other)];
    const { page } = await world.signedInBrowser(agent.wallet);
    await page.goto("keys");
    await page.getByRole("button", { name: "Create key" }).first().focus();
    const input = page.getByRole("combobox", { name: "Page or identifier" });
    const search = async (text: string) => {
      await page.keyboard.press("Control+k");
      await expect.poll(() => input.evaluate((one) => one === one.ownerDocument.activeElement)).toBe(true);
      await page.keyboard.type(text);
    };
    await search(foreign.body.receipt.receipt_id);
    await page.getByText("Nothing found in your account.").waitFor();
    expect(await axeViolations(page)).toEqual([]);
    // The shortcut comes before the event that the dialog was closed.
    await page.evaluate(`(async () => {
      const dialog = document.querySelector("dialog[open]");
      const closed = new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
      dialog.querySelector(".actions button").click();
      while (dialog.open) await undefined;
      dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true }));
      await closed;
    })()`);
    await expect.poll(() => input.isVisible()).toBe(true);
    await page.keyboard.press("Escape");
    const opener = page.getByRole("button", { name: "Create key" }).first();
    await expect.poll(() => opener.evaluate((one) => one === one.ownerDocument.activeElement)).toBe(true);
    await search(own.headers.get("x-request-id") ?? "");
    await page.getByRole("option", { name: "Run of vram_estimate" }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/runs/${own.body.receipt.run_id}`);
    await search("e");
    expect(await page.getByRole("option", { selected: true }).textContent()).toContain("Overview");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Keys" }).waitFor();
    await search(agent.apiKey.slice(0, 14));
    await page.getByRole("option", { name: /^test sk-agent-.* Activity$/ }).waitFor();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("vram_est");
    await page.getByRole("option", { name: "vram_estimate Tool" }).waitFor();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("create k");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "New key" }).waitFor();
    // On a phone the bar stays one row, and the finder is behind "More".
    await page.setViewportSize({ width: 390, height: 844 });
    expect((await page.locator(".side").boundingBox())?.height).toBeLessThan(80);
    await page.getByRole("button", { name: "More" }).press("Enter");
    await page.getByRole("button", { name: "Find" }).press("Enter");
    await input.waitFor();
  });
}
