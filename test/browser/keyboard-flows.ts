import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import type { ConsoleWorld } from "./console-world.ts";
import { testWallet } from "./wallet.ts";

/** Presses Tab until the target has the focus. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  for (let count = 0; count < 80; count++) {
    if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`the Tab key does not lead to ${target.toString()}`);
}

/** Tests without a mouse. */
export function keyboardFlows(getWorld: () => ConsoleWorld): void {
  test("supports sign-in, key creation and deposit by keyboard alone", async () => {
    const world = getWorld();
    const agent = await world.agent();
    const { page, closeBrowser } = await world.browserFor({ wallets: [testWallet(agent.wallet)] });
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
    await closeBrowser();
  });
}
