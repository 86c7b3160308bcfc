import type { Keypair } from "@solana/web3.js";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { buildConsoleIfOlder } from "../../src/dev/console-build/index.ts";
import { signIn } from "../support/console.ts";
import { startWorld, type World } from "../support/world.ts";
import { openBrowser, type TestBrowser, type UserBrowser, type BrowserOptions } from "./browser.ts";

export interface ConsoleWorld extends World {
  readonly browser: TestBrowser;
  readonly consoleUrl: string;
  browserFor(options?: BrowserOptions): Promise<UserBrowser>;
  sessionCookie(wallet: Keypair): Promise<Parameters<UserBrowser["context"]["addCookies"]>[0][number]>;
  /** Opens a browser context with a session for this wallet. */
  signedInBrowser(wallet: Keypair, options?: BrowserOptions): Promise<UserBrowser>;
}

/** Options for expect.poll. */
export const POLL = { interval: 100 };

export async function navigate(page: Page, at: string): Promise<void> {
  await page.evaluate((path) => {
    const { history } = globalThis as unknown as {
      history: { pushState(state: null, title: "", url: string): void };
    };
    history.pushState(null, "", path);
  }, `/console/${at}`);
}

/** Waits until no loading placeholder is left. */
export async function waitUntilLoaded(page: Page): Promise<void> {
  await page.getByRole("heading", { level: 1 }).waitFor();
  await expect.poll(() => page.locator("[aria-label=Loading]").count(), POLL).toBe(0);
}

/** Starts the gateway and the browser; `settings` as for {@link startWorld}. Deposits are polled often. */
export async function startConsoleWorld(settings: Record<string, string> = {}): Promise<ConsoleWorld> {
  await buildConsole();
  const [world, browser] = await Promise.all([
    startWorld({ WATCH_INTERVAL_MS: "500", ...settings }),
    openBrowser(),
  ]);
  const { consoleUrl } = world.gateway;
  const sessionCookie = async (wallet: Keypair) => {
    const [name = "", value = ""] = (await signIn(world, wallet)).cookie.split("=");
    return { name, value, url: consoleUrl, httpOnly: true, sameSite: "Strict" } as const;
  };
  const browserFor = (options?: BrowserOptions) => browser.openFor(`${consoleUrl}/`, options);
  return {
    ...world,
    browser,
    consoleUrl,
    browserFor,
    sessionCookie,
    async signedInBrowser(wallet, options) {
      const cookie = await sessionCookie(wallet);
      const user = await browserFor(options);
      await user.context.addCookies([cookie]);
      return user;
    },
    async close() {
      await browser.close();
      await world.close();
    },
  };
}

/** The console's world of a file. */
export function useConsoleWorld(
  settings: () => Record<string, string> | Promise<Record<string, string>>,
): ConsoleWorld {
  const world = {} as ConsoleWorld;
  beforeAll(async () => void Object.assign(world, await startConsoleWorld(await settings())));
  afterAll(() => world.close());
  return world;
}

/** Test files may build at the same time: the one that finishes second finds the console built. */
async function buildConsole(): Promise<void> {
  let output = "";
  const log = (line: string) => {
    output = line;
  };
  for (let attempt = 0; attempt < 3; attempt++) if (await buildConsoleIfOlder(log)) return;
  throw new Error(output);
}
