import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { navigate, waitUntilLoaded, type ConsoleWorld } from "./console-world.ts";
import { seedAccount, type SeededAccount } from "./seeded-account.ts";
import { testWallet } from "./wallet.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const PAGES: readonly ((seeded: SeededAccount) => string)[] = [
  () => "",
  () => "activity",
  ({ receiptId }) => `receipts/${receiptId}`,
  ({ runId }) => `runs/${runId}`,
  () => "keys",
  () => "deposit",
  ({ depositId }) => `deposit/${depositId}`,
  () => "playground",
  () => "settings",
  () => "operator",
  () => "operator/accounts",
  ({ accountId }) => `operator/accounts/${accountId}`,
  () => "operator/payments",
  () => "operator/actions",
  () => "nowhere",
];

/** The part of axe's report that is used here. */
interface Violation {
  id: string;
  help: string;
  nodes: { html: string }[];
}
interface Axe {
  run(options: object): Promise<{ violations: Violation[] }>;
}

/** Report violations only, and fetch nothing. */
const AXE_OPTIONS = { resultTypes: ["violations"], preload: false, elementRef: false };

/** Returns axe's violations on the page, one line each; `rule` runs only that rule. */
export async function axeViolations(page: Page, rule?: string): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(AXE);
  const options = rule === undefined ? AXE_OPTIONS : { ...AXE_OPTIONS, runOnly: [rule] };
  const { violations } = await page.evaluate(
    (asked) => (globalThis as unknown as { axe: Axe }).axe.run(asked),
    options,
  );
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html }) => `${new URL(page.url()).pathname}: ${id}: ${help}: ${html.slice(0, 200)}`),
  );
}

/**
 * Checks a page in light and dark theme and at phone width. Each page loads once, because loading is slow.
 */
async function checkPage(page: Page): Promise<string[]> {
  await waitUntilLoaded(page);
  const violations = await axeViolations(page);
  // Dark mode differs in colours only.
  await page.emulateMedia({ colorScheme: "dark" });
  violations.push(...(await axeViolations(page, "color-contrast")));
  await page.setViewportSize({ width: 390, height: 844 });
  const over = await page
    .locator("html")
    .evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
  if (over > 0) violations.push(`${page.url()}: ${over} px wider than a phone`);
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1_280, height: 800 });
  return violations;
}

/** Checks dialogs and forms that open on demand. */
async function checkDialogs(page: Page, { accountId }: SeededAccount): Promise<string[]> {
  const violations: string[] = [];
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  await navigate(page, "keys");
  await waitUntilLoaded(page);
  await button("Create key").click();
  violations.push(...(await axeViolations(page)));
  await page.getByLabel("Name").fill("Checked");
  await button("Create key").click();
  await button("I have saved it").waitFor();
  violations.push(...(await axeViolations(page)));
  await button("I have saved it").click();
  const opens = async (name: string) => {
    await button(name).click();
    await page.getByRole("dialog").waitFor();
    violations.push(...(await axeViolations(page)));
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  };
  await opens("Rotate Checked");
  await opens("Revoke Checked");
  await navigate(page, `operator/accounts/${accountId}`);
  await opens("Adjust balance");
  await opens("Block");
  await navigate(page, "settings");
  await opens("Sign out everywhere");
  return violations;
}

/** Accessibility and layout tests. */
export function appearanceTests(getWorld: () => ConsoleWorld): void {
  test("passes axe on every page in light and dark themes and fits a phone", async () => {
    const world = getWorld();
    const seeded = await seedAccount(world);
    const options = { wallets: [testWallet(seeded.wallet)] };
    const signedOut = await world.browserFor(options);
    await signedOut.page.goto("");
    const violations = await checkPage(signedOut.page);
    await signedOut.closeBrowser();
    const { page, closeBrowser } = await world.signedInBrowser(seeded.wallet, options);
    await page.goto("");
    for (const at of PAGES) {
      await navigate(page, at(seeded));
      violations.push(...(await checkPage(page)));
    }
    violations.push(...(await checkDialogs(page, seeded)));
    expect(violations).toEqual([]);
    // Control: axe reports a violation that no page has.
    await page.locator("main").evaluate((main) => {
      main.append(main.ownerDocument.createElement("button"));
    });
    expect((await axeViolations(page)).join()).toContain("button-name");
    await closeBrowser();
  }, 120_000);
}
