import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { navigate, waitUntilLoaded, type ConsoleWorld } from "./console-world.ts";
import { seedAccount, type SeededAccount } from "./seeded-account.ts";
import { observeLayoutShift, takeLayoutShift } from "./layout.ts";
import { testWallet } from "./wallet.ts";

/** Phones, 1,280 px at 200 % zoom, and a wide screen; {@link checkPage} loads pages at 1,280 px. */
const WIDTHS = [320, 390, 640, 1_920];

/** Goal of the layout shift of a page. */
const MAX_SHIFT = 0.05;

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const PAGES: readonly ((seeded: SeededAccount) => string)[] = [
  () => "",
  () => "activity",
  () => "activity?tab=requests",
  ({ requestId }) => `activity/requests/${requestId}`,
  ({ receiptId }) => `receipts/${receiptId}`,
  ({ runId }) => `runs/${runId}`,
  () => "keys",
  () => "deposit",
  ({ depositId }) => `deposit/${depositId}`,
  () => "playground",
  () => "tools",
  () => "tools/vram_estimate",
  () => "webhooks",
  () => "settings",
  () => "operator",
  () => "operator/webhooks",
  () => "operator/accounts",
  ({ accountId }) => `operator/accounts/${accountId}`,
  () => "operator/payments",
  () => "operator/revenue",
  () => "operator/configuration",
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
 * Checks a page in light and dark theme and at other widths. Each page loads once, because loading is slow.
 */
async function checkPage(page: Page): Promise<string[]> {
  await waitUntilLoaded(page);
  const violations = [...(await shiftViolations(page)), ...(await axeViolations(page))];
  // Dark mode differs in colours only.
  await page.emulateMedia({ colorScheme: "dark" });
  violations.push(...(await axeViolations(page, "color-contrast")));
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 844 });
    const over = await page
      .locator("html")
      .evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
    if (over > 0) violations.push(`${page.url()}: ${over} px wider than ${width} px`);
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1_280, height: 800 });
  await takeLayoutShift(page);
  return violations;
}

/** Returns the layout shift of the page so far if it is above the goal of web.dev/cls. */
async function shiftViolations(page: Page): Promise<string[]> {
  const shift = await takeLayoutShift(page);
  const { width } = page.viewportSize() ?? { width: 0 };
  return shift < MAX_SHIFT ? [] : [`${page.url()}: layout shift ${shift.toFixed(3)} at ${width} px`];
}

/** Loads the pages whose parts load one after the other, and checks the use of a wide screen. */
async function checkLoads(page: Page, { depositId, accountId }: SeededAccount): Promise<string[]> {
  const violations: string[] = [];
  for (const [width, ...pages] of [
    [390, "", `deposit/${depositId}`, `operator/accounts/${accountId}`],
    [1_920, "settings", ""],
  ] as const) {
    await page.setViewportSize({ width, height: 844 });
    for (const at of pages) {
      await page.goto(at);
      await waitUntilLoaded(page);
      violations.push(...(await shiftViolations(page)));
    }
  }
  const used = (await page.locator(".page").boundingBox())?.width ?? 0;
  const free = (await page.locator(".frame").boundingBox())?.width ?? 0;
  if (used / (free - 224) < 0.9) violations.push(`${page.url()}: uses ${used} px at 1,920 px`);
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

export function appearanceTests(world: ConsoleWorld): void {
  test("passes axe on every page in light and dark themes, fits every screen and does not shift while it loads", async () => {
    const seeded = await seedAccount(world);
    const options = { wallets: [testWallet(seeded.wallet)] };
    const signedOut = await world.browserFor(options);
    await observeLayoutShift(signedOut.context);
    await signedOut.page.goto("");
    const violations = await checkPage(signedOut.page);
    const { page, context } = await world.signedInBrowser(seeded.wallet, options);
    await observeLayoutShift(context);
    await page.goto("");
    await waitUntilLoaded(page);
    violations.push(...(await shiftViolations(page)));
    for (const at of PAGES) {
      await navigate(page, at(seeded));
      violations.push(...(await checkPage(page)));
    }
    violations.push(...(await checkDialogs(page, seeded)), ...(await checkLoads(page, seeded)));
    expect(violations).toEqual([]);
    // Control: axe reports a violation that no page has.
    await page.locator("main").evaluate((main) => {
      main.append(main.ownerDocument.createElement("button"));
    });
    expect((await axeViolations(page)).join()).toContain("button-name");
  });
}
