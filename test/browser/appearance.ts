import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { navigate, waitUntilLoaded, type ConsoleWorld } from "./console-world.ts";
import { callOf, endRun, failed } from "../postgres/fixture.ts";
import { LONG_NAME } from "./key-flows.ts";
import { seedAccount, type SeededAccount } from "./seeded-account.ts";
import { observeLayoutShift, overflow, takeLayoutShift } from "./layout.ts";
import { testWallet } from "./wallet.ts";

/** Phones, 1,280 px at 200 % zoom, and a wide screen; {@link checkPage} loads pages at 1,280 px. */
const WIDTHS = [320, 390, 640, 1_024, 1_920];

/** Goal of the layout shift of a page. */
const MAX_SHIFT = 0.05;

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const PAGES: readonly ((seeded: SeededAccount) => string)[] = [
  () => "",
  () => "activity",
  () => "activity?tab=runs",
  () => "activity?tab=statement",
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
const AXE_OPTIONS = {
  resultTypes: ["violations"],
  preload: false,
  elementRef: false,
  // Speech input uses the visible text (WCAG 2.5.3).
  rules: { "label-content-name-mismatch": { enabled: true } },
};

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
    violations.push(...(await widthViolations(page, width)));
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1_280, height: 800 });
  violations.push(...(await widthViolations(page, 1_280)));
  await takeLayoutShift(page);
  return violations;
}

/** A table hides no column, and neither it nor the page is wider than its place. */
async function widthViolations(page: Page, width: number): Promise<string[]> {
  // A chart follows its place a frame later.
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  const over = await overflow(page);
  return over > 0 ? [`${page.url()}: ${over} px wider than its place at ${width} px`] : [];
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
    [1_280, "keys", "webhooks"],
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
  await page.getByLabel("Name", { exact: true }).fill("Checked");
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
  await page.setViewportSize({ width: 390, height: 844 });
  await page
    .getByRole("button", { name: /^Refund/ })
    .first()
    .click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Reason").fill("long ".repeat(90));
  const over = await dialog.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
  if (over > 0) violations.push(`the refund dialog is ${over} px wider than its place`);
  await page.keyboard.press("Escape");
  await page.setViewportSize({ width: 1_280, height: 800 });
  await navigate(page, "settings");
  await opens("Sign out everywhere");
  return violations;
}

/** Makes the lists as wide as they get: with a long name, an error and a refund. */
async function widenLists(
  { postgres }: ConsoleWorld,
  { accountId, receiptId }: SeededAccount,
): Promise<void> {
  const { key } = await postgres.apiKeys.create({ accountId, name: LONG_NAME, scopes: [] });
  const call = callOf(accountId, { keyId: key.keyId, tool: "inference_chat", price: 1_234n });
  await postgres.ledger.authorize(call);
  const error = { code: "TOOL_FAILED", message: "the tool failed: ".repeat(9) } as const;
  await endRun(postgres.ledger, { ...failed(call), error });
  await postgres.refunds.refund({ receiptId, reason: "test" });
}

export function appearanceTests(world: ConsoleWorld): void {
  test("passes axe on every page in light and dark themes, fits every screen and does not shift while it loads", async () => {
    const seeded = await seedAccount(world);
    await widenLists(world, seeded);
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
