import { mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { configFileSchema } from "../../src/config/config-file.ts";
import { WebhookReceiver } from "../support/webhook-receiver.ts";
import { authorizeUrl, Browser, register } from "../transport/oauth/browser.ts";
import { startConsoleWorld, type ConsoleWorld } from "./console-world.ts";
import { seedAccount, type SeededAccount } from "./seeded-account.ts";
import { withPalette } from "./palette-png.ts";
import { testWallet } from "./wallet.ts";

/** Output folder; SCREENSHOTS overrides it. */
const FOLDER = process.env["SCREENSHOTS"] ?? path.resolve(import.meta.dirname, "../../docs/screenshots");
/** Takes only screenshots whose name starts with SCREENSHOTS_OF. */
const ONLY = process.env["SCREENSHOTS_OF"] ?? "";
const WIDE = { width: 1280, height: 860 };
const NARROW = { width: 390, height: 844 };

interface Screenshot {
  readonly name: string;
  readonly at: (seeded: SeededAccount) => string;
  readonly first?: (page: Page) => Promise<void>;
  /** Also captured at phone width. */
  readonly narrow?: true;
  /** Uses an account without balance. */
  readonly emptyAccount?: true;
}

const SCREENSHOTS: readonly Screenshot[] = [
  { name: "overview", at: () => "", narrow: true },
  { name: "activity", at: () => "activity", narrow: true },
  { name: "statement", at: () => "activity?tab=statement" },
  { name: "requests", at: () => "activity?tab=requests", narrow: true },
  { name: "request", at: ({ requestId }) => `activity/requests/${requestId}`, narrow: true },
  { name: "receipt", at: ({ receiptId }) => `receipts/${receiptId}` },
  { name: "run", at: ({ runId }) => `runs/${runId}` },
  { name: "keys", at: () => "keys", narrow: true },
  {
    name: "new-key",
    at: () => "keys",
    first: (page) => page.getByRole("button", { name: "Create key" }).first().click(),
  },
  {
    name: "connect",
    at: () => askingUrl,
    narrow: true,
    first: (page) => page.getByRole("button", { name: "Allow" }).waitFor(),
  },
  { name: "deposit", at: ({ depositId }) => `deposit/${depositId}`, narrow: true },
  {
    name: "playground",
    at: () => "playground",
    narrow: true,
    first: async (page) => {
      await page.getByRole("button", { name: "Create a temporary key" }).click();
      await page.getByText(/^expires in/).waitFor();
      await page.getByRole("button", { name: "Run" }).click();
      await page.getByText("Charged $0.001, paid from balance").waitFor();
    },
  },
  {
    name: "playground-402",
    at: () => "playground",
    emptyAccount: true,
    first: async (page) => {
      await page.getByRole("button", { name: "Create a temporary key" }).click();
      await page.getByText(/^expires in/).waitFor();
      await page.getByRole("button", { name: "Run" }).click();
      await page.getByText("quote valid for").waitFor();
      await page.getByRole("button", { name: "Test wallet", exact: true }).click();
      await page.getByRole("button", { name: "Pay $0.001 with Test wallet" }).waitFor();
    },
  },
  {
    name: "finder",
    at: () => "activity",
    first: async (page) => {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Page or identifier" }).fill("e");
    },
  },
  { name: "tools", at: () => "tools", narrow: true },
  { name: "tool", at: () => "tools/vram_estimate", narrow: true },
  {
    name: "webhooks",
    at: () => "webhooks",
    narrow: true,
    first: async (page) => {
      const add = page.getByRole("button", { name: "Add endpoint" });
      await add
        .or(page.getByRole("button", { name: "Send test event" }))
        .first()
        .waitFor();
      if ((await page.getByRole("button", { name: "Send test event" }).count()) > 0) return;
      await add.click();
      await page.getByLabel("URL").fill(receiver.url);
      await add.click();
      await page.getByRole("button", { name: "I have saved it" }).click();
      await page.getByRole("button", { name: "Send test event" }).click();
      await page.getByText("204").waitFor();
    },
  },
  { name: "settings", at: () => "settings" },
  { name: "operations", at: () => "operator" },
  { name: "accounts", at: () => "operator/accounts" },
  { name: "account", at: ({ accountId }) => `operator/accounts/${accountId}` },
  { name: "payments", at: () => "operator/payments" },
  { name: "revenue", at: () => "operator/revenue" },
  {
    name: "configuration",
    at: () => "operator/configuration",
    first: async (page) => {
      await page.getByRole("button", { name: "Edit as draft" }).click();
      const document = page.getByLabel("Document (JSON)");
      await document.fill((await document.inputValue()).replace("600", "900"));
      await page.getByRole("button", { name: "Compare with the version in force" }).click();
      await page.getByRole("table", { name: "Changes" }).waitFor();
    },
  },
  { name: "actions", at: () => "operator/actions" },
];

let world: ConsoleWorld;
let seeded: SeededAccount;
let receiver: WebhookReceiver;
/** Where an app sends the person. */
let askingUrl = "";
beforeAll(async () => {
  world = await startConsoleWorld({ WEBHOOK_NETWORK: "any" });
  seeded = await seedAccount(world);
  receiver = await WebhookReceiver.open();
  await connectApp();
  const { tiers } = configFileSchema.parse({ tiers: { gold: { rate_per_minute: 600, burst: 50 } } });
  const version = {
    source: "apply",
    actor: "ops@example.com",
    note: "Gold customers",
    expected: undefined,
  } as const;
  await world.postgres.configVersions.apply({ ...version, document: JSON.stringify({ tiers }), tiers });
  if (ONLY === "" && process.env["SCREENSHOTS"] === undefined)
    await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER, { recursive: true });
});
afterAll(async () => {
  receiver?.close();
  await world?.close();
});

for (const colorScheme of ["light", "dark"] as const) {
  test(`the pages, ${colorScheme}`, async () => {
    const wallets = [testWallet(seeded.wallet)];
    const signedOut = await world.browserFor({ colorScheme, wallets, viewport: WIDE });
    if ("sign-in".startsWith(ONLY))
      await take(signedOut.page, { name: "sign-in", at: () => "" }, colorScheme);
    await signedOut.context.close();
    for (const viewport of [WIDE, NARROW]) {
      const look = viewport === NARROW ? `${colorScheme}-narrow` : colorScheme;
      const screenshots = SCREENSHOTS.filter(
        ({ name, narrow }) => name.startsWith(ONLY) && (viewport === WIDE || narrow),
      );
      for (const emptyAccount of [false, true]) {
        const wallet = emptyAccount ? (await world.agent()).wallet : seeded.wallet;
        const options = { wallets: [testWallet(wallet)], expected: [/status of 402/] };
        const user = await world.signedInBrowser(wallet, { colorScheme, viewport, ...options });
        for (const screenshot of screenshots)
          if ((screenshot.emptyAccount ?? false) === emptyAccount) await take(user.page, screenshot, look);
        expect(user.problems).toEqual([]);
        await user.context.close();
      }
    }
  });
}

/** Connects an app, and lets another ask. */
async function connectApp(): Promise<void> {
  const { gateway } = world;
  const limits = {
    day_usdc_microusd: "1000000",
    expires_at: new Date(Date.now() + 30 * 86_400_000).toISOString(),
  };
  const asking = async (name: string) =>
    authorizeUrl(gateway, await register(gateway, { client_name: name }));
  await new Browser(seeded.wallet).approve(gateway, await asking("Desktop assistant"), { limits });
  askingUrl = (await asking("Code editor")).href;
}

async function take(page: Page, { name, at, first }: Screenshot, look: string): Promise<void> {
  await page.goto(at(seeded));
  await page.getByRole("heading", { level: 1 }).waitFor();
  await first?.(page);
  // Loading placeholders have this label.
  await expect.poll(() => page.locator("[aria-label=Loading]").count()).toBe(0);
  // The viewport becomes as tall as the page, so that fixed elements sit at its end.
  const before = page.viewportSize() ?? WIDE;
  const height = await page.locator("html").evaluate(({ scrollHeight }) => scrollHeight);
  await page.setViewportSize({ ...before, height });
  await page.waitForTimeout(400);
  await writeFile(
    path.join(FOLDER, `${name}-${look}.png`),
    withPalette(await page.screenshot({ fullPage: true })),
  );
  await page.setViewportSize(before);
}
