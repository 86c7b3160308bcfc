import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
} from "playwright-core";
import { findChromium } from "./chromium.ts";
import { installWallets, type TestWallet } from "./wallet.ts";

/** What a visitor brings. */
export interface BrowserOptions extends Pick<
  BrowserContextOptions,
  "colorScheme" | "viewport" | "userAgent"
> {
  /** Wallets that are installed in their browser. */
  wallets?: readonly TestWallet[];
  /** What their browser's console may say all the same, e.g. of an answer with a status that the test is about. */
  expected?: readonly RegExp[];
}

/** Somebody with a browser of their own: no cookie and nothing kept is shared with another one. */
export interface UserBrowser {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What went wrong in any of their pages so far: errors, violations of the policy, requests to elsewhere. */
  readonly problems: readonly string[];
  /** Ends their browser. @throws Error when anything went wrong in it that was not expected */
  closeBrowser(): Promise<void>;
}

/** A browser for the tests of a file. */
export interface TestBrowser {
  /** Lets somebody visit `baseUrl`; paths are below it. */
  openFor(baseUrl: string, options?: BrowserOptions): Promise<UserBrowser>;
  close(): Promise<void>;
}

/**
 * Starts a browser. It ends with `close`, and with this process however that ends: what it is steered by is a pipe.
 */
export async function openBrowser(): Promise<TestBrowser> {
  const { program, env } = await findChromium();
  const browser = await chromium.launch({
    executablePath: program,
    env: { ...process.env, ...env },
    // As root there is no other way, and only pages of our own are opened.
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
  // Two noisy cores: only a test's own limit ends a wait.
  context.setDefaultTimeout(20_000);
  const problems = collectProblems(context, new URL(baseUrl).origin, expected);
  await installWallets(context, wallets);
  return {
    page: await context.newPage(),
    context,
    problems,
    async closeBrowser() {
      await context.close();
      if (problems.length > 0) throw new Error(`the browser had problems:\n${problems.join("\n")}`);
    },
  };
}

function collectProblems(context: BrowserContext, origin: string, expected: readonly RegExp[]): string[] {
  const problems: string[] = [];
  const add = (text: string) => {
    if (!expected.some((pattern) => pattern.test(text))) problems.push(text);
  };
  context.on("console", (message) => {
    // Violations of the policy are errors of the console, too.
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
