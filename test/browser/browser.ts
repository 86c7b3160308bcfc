import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
} from "playwright-core";
import { onTestFinished } from "vitest";
import { findChromium } from "./chromium.ts";
import { installWallets, type TestWallet } from "./wallet.ts";

export interface BrowserOptions extends Pick<
  BrowserContextOptions,
  "colorScheme" | "viewport" | "userAgent"
> {
  wallets?: readonly TestWallet[];
  /** Console messages to ignore, e.g. for a status that the test causes. */
  expected?: readonly RegExp[];
}

/**
 * A separate browser context without shared cookies and storage. It closes with its test, which then
 * fails if there were unexpected problems.
 */
export interface UserBrowser {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors, CSP violations and requests to other origins so far. */
  readonly problems: readonly string[];
  /** Closes it before the end of its test. */
  closeBrowser(): Promise<void>;
}

export interface TestBrowser {
  /** Opens a context; relative URLs resolve against `baseUrl`. */
  openFor(baseUrl: string, options?: BrowserOptions): Promise<UserBrowser>;
  close(): Promise<void>;
}

/** Starts a browser. It ends with this process too, because it is controlled through a pipe. */
export async function openBrowser(): Promise<TestBrowser> {
  const { program, env } = await findChromium();
  const browser = await chromium.launch({
    executablePath: program,
    env: { ...process.env, ...env },
    // Chromium's sandbox does not work as root; only our own pages are opened.
    chromiumSandbox: false,
  });
  return {
    openFor: (baseUrl, options = {}) => openContext(browser, baseUrl, options),
    close: () => browser.close(),
  };
}

async function openContext(browser: Browser, baseUrl: string, options: BrowserOptions): Promise<UserBrowser> {
  const { wallets = [], expected = [], ...look } = options;
  const context = await browser.newContext({
    baseURL: baseUrl,
    locale: "en-US",
    timezoneId: "America/New_York",
    reducedMotion: "reduce",
    permissions: ["clipboard-read", "clipboard-write"],
    viewport: { width: 1280, height: 800 },
    ...look,
  });
  // On a busy machine only the test's own timeout should end a wait.
  context.setDefaultTimeout(60_000);
  const problems = collectProblems(context, new URL(baseUrl).origin, expected);
  await installWallets(context, wallets);
  let closed = false;
  const closeBrowser = async () => {
    if (closed) return;
    closed = true;
    await context.close();
    if (problems.length > 0) throw new Error(`the browser had problems:\n${problems.join("\n")}`);
  };
  onTestFinished(closeBrowser);
  return { page: await context.newPage(), context, problems, closeBrowser };
}

function collectProblems(context: BrowserContext, origin: string, expected: readonly RegExp[]): string[] {
  const problems: string[] = [];
  const add = (text: string) => {
    if (!expected.some((pattern) => pattern.test(text))) problems.push(text);
  };
  context.on("console", (message) => {
    // CSP violations are console errors too.
    if (message.type() === "error" || message.type() === "warning")
      add(`${message.type()}: ${message.text()} (${message.location().url})`);
  });
  context.on("weberror", (error) => add(`thrown: ${error.error().stack ?? String(error.error())}`));
  context.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith("http") && url.origin !== origin) add(`request to elsewhere: ${url.href}`);
  });
  return problems;
}
