import type { Keypair } from "@solana/web3.js";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { buildConsoleIfOlder } from "../../src/dev/console-build/index.ts";
import { signIn } from "../support/console.ts";
import { startWorld, type World } from "../support/world.ts";
import { openBrowser, type TestBrowser, type UserBrowser, type BrowserOptions } from "./browser.ts";

/** A gateway that serves the console as it is built from the sources, and a browser to visit it with. */
export interface ConsoleWorld extends World {
  readonly browser: TestBrowser;
  /** Where the console is, without a slash at its end. */
  readonly consoleUrl: string;
  /** Somebody with a browser of their own. */
  browserFor(options?: BrowserOptions): Promise<UserBrowser>;
  /** Somebody who has signed in before, with this wallet: the session's cookie is in their browser. */
  signedInBrowser(wallet: Keypair, options?: BrowserOptions): Promise<UserBrowser>;
}

/** How long is waited for what comes soon, however busy the machine is. */
export const POLL = { interval: 100 };

/** Goes to another page of the console as a link does: what is loaded stays loaded. */
export async function navigate(page: Page, at: string): Promise<void> {
  await page.evaluate((path) => {
    const { history } = globalThis as unknown as {
      history: { pushState(state: null, title: "", url: string): void };
    };
    history.pushState(null, "", path);
  }, `/console/${at}`);
}

/** Until the page shows what it was asked for. */
export async function waitUntilLoaded(page: Page): Promise<void> {
  await page.getByRole("heading", { level: 1 }).waitFor();
  await expect.poll(() => page.locator("[aria-label=Loading]").count(), POLL).toBe(0);
}

/** Starts all of it; `settings` as for {@link startWorld}. Deposits are looked for often. */
export async function startConsoleWorld(settings: Record<string, string> = {}): Promise<ConsoleWorld> {
  await buildConsole();
  const [world, browser] = await Promise.all([
    startWorld({ WATCH_INTERVAL_MS: "500", ...settings }),
    openBrowser(),
  ]);
  const { consoleUrl } = world.gateway;
  const browserFor = (options?: BrowserOptions) => browser.openFor(`${consoleUrl}/`, options);
  return {
    ...world,
    browser,
    consoleUrl,
    browserFor,
    async signedInBrowser(wallet, options) {
      const { cookie } = await signIn(world, wallet);
      const user = await browserFor(options);
      const [name = "", value = ""] = cookie.split("=");
      await user.context.addCookies([{ name, value, url: consoleUrl, httpOnly: true, sameSite: "Strict" }]);
      return user;
    },
    async close() {
      await browser.close();
      await world.close();
    },
  };
}

/** Two test files may find it too old at once: the one that comes second to the end of its build finds it built. */
async function buildConsole(): Promise<void> {
  let said = "";
  const tell = (line: string) => {
    said = line;
  };
  for (let attempt = 0; attempt < 3; attempt++) if (await buildConsoleIfOlder(tell)) return;
  throw new Error(said);
}
