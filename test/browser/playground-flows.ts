import { execFile } from "node:child_process";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import type { ConsoleWorld } from "./console-world.ts";
import { axeViolations } from "./appearance.ts";
import { testWallet, type TestWallet } from "./wallet.ts";

const run = promisify(execFile);
/** Chromium logs every response with status 400 or more. */
const expected = [/status of 402/, /status of 503/];

/** Opens the playground and creates a temporary key. */
async function ready(page: Page): Promise<void> {
  await page.goto("playground");
  await page.getByRole("button", { name: "Create a temporary key" }).click();
  await page.getByText(/^expires in/).waitFor();
}

/** Runs the call and pays its quote. */
async function buy(page: Page, wallet: TestWallet): Promise<void> {
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByText("quote valid for").waitFor();
  await page.getByRole("button", { name: wallet.name, exact: true }).click();
  await page.getByRole("button", { name: `Pay $0.001 with ${wallet.name}` }).click();
}

/** Tests of the playground. */
export function playgroundFlows(getWorld: () => ConsoleWorld): void {
  test("pays a quote with a signature alone and links the receipt when the balance is empty", async () => {
    const world = getWorld();
    const agent = await world.agent();
    const wallet = testWallet(agent.wallet);
    const { page, closeBrowser } = await world.signedInBrowser(agent.wallet, { wallets: [wallet], expected });
    await ready(page);
    await buy(page, wallet);
    await page.getByText("wallet payment (no network fee)").waitFor();
    expect(wallet.requests).toEqual(["signTransaction"]);
    await page.getByRole("link", { name: "View receipt" }).click();
    await page.getByRole("heading", { name: "Receipt" }).first().waitFor();
    await page.getByText("$0.001").first().waitFor();
    expect(await world.violations()).toEqual([]);
    await closeBrowser();
  });

  test("waits for the payment of a wallet that submits transactions itself", async () => {
    const world = getWorld();
    const agent = await world.agent();
    const wallet = testWallet(agent.wallet, {
      name: "Sending wallet",
      abilities: ["signIn", "signAndSendTransaction"],
      rpcUrl: world.chain.url,
    });
    const { page, closeBrowser } = await world.signedInBrowser(agent.wallet, { wallets: [wallet], expected });
    await ready(page);
    await buy(page, wallet);
    await page.getByText("Charged $0.001, wallet payment").waitFor();
    expect(wallet.requests).toEqual(["signAndSendTransaction"]);
    await closeBrowser();
  });

  test("pays from the balance first, runs free tools and reports invalid parameters", async () => {
    const world = getWorld();
    const agent = await world.agent({ balance: 1_000_000n });
    const { page, closeBrowser } = await world.signedInBrowser(agent.wallet, { expected: [/status of 400/] });
    await ready(page);
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText("paid from balance").waitFor();
    expect(await world.postgres.ledger.balance(agent.accountId)).toBe(999_000n);
    await page.getByLabel("context_length").fill("many");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText("Enter a whole number").waitFor();
    await page.getByLabel("context_length").fill("0");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText("400 INVALID_REQUEST").waitFor();
    await page.getByLabel("Tool", { exact: true }).selectOption("echo");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText("Free call").waitFor();
    const table = page.getByRole("table", { name: "Call history" });
    expect(await table.getByRole("row").count()).toBe(4);
    await closeBrowser();
  });

  test("charges nothing when the payment is rejected, and waits for a pending payment without paying twice", async () => {
    const world = getWorld();
    const agent = await world.agent();
    const wallet = testWallet(agent.wallet, { rejects: true });
    const { page, closeBrowser } = await world.signedInBrowser(agent.wallet, { wallets: [wallet], expected });
    await ready(page);
    await buy(page, wallet);
    await page.getByText("You rejected the request in Test wallet").waitFor();
    expect(await world.postgres.ledger.balance(agent.accountId)).toBe(0n);
    wallet.rejects = false;
    world.chain.faults.add({ method: "sendTransaction", fault: { kind: "http", status: 500 } });
    await page.getByRole("button", { name: "Pay $0.001 with Test wallet" }).click();
    await page.getByText("Payment pending: retry").waitFor();
    expect(await page.getByRole("button", { name: /^Pay/ }).count()).toBe(0);
    world.chain.faults.clear("sendTransaction");
    await page.getByText("wallet payment (no network fee)").waitFor();
    // One rejection and one signature.
    expect(wallet.requests).toEqual(["signTransaction", "signTransaction"]);
    await closeBrowser();
  });

  test("retries a lost response with the same payment", async () => {
    const world = getWorld();
    const agent = await world.agent();
    const wallet = testWallet(agent.wallet);
    const more = [...expected, /ERR_FAILED/];
    const { page, context, closeBrowser } = await world.signedInBrowser(agent.wallet, {
      wallets: [wallet],
      expected: more,
    });
    await ready(page);
    let lost = false;
    await context.route(/tools\/call/, async (route) => {
      const headers = await route.request().allHeaders();
      if (lost || headers["x-payment"] === undefined) return route.continue();
      lost = true;
      await route.fetch();
      return route.abort();
    });
    await buy(page, wallet);
    await page.getByRole("button", { name: "Retry with the same payment" }).click();
    await page.getByText("wallet payment (no network fee)").waitFor();
    expect(wallet.requests).toEqual(["signTransaction"]);
    expect(await world.postgres.ledger.balance(agent.accountId)).toBe(0n);
    await closeBrowser();
  });

  test("requests a new quote instead of paying an expired one", async () => {
    const world = getWorld();
    const agent = await world.agent();
    const wallet = testWallet(agent.wallet);
    const { page, closeBrowser } = await world.signedInBrowser(agent.wallet, { wallets: [wallet], expected });
    await page.clock.install();
    await ready(page);
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText("quote valid for").waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.clock.fastForward("05:01");
    await page.getByText("The quote has expired").waitFor();
    expect(await page.getByRole("button", { name: wallet.name, exact: true }).count()).toBe(0);
    await page.clock.setSystemTime(Date.now());
    await page.getByRole("button", { name: "Get a new quote" }).click();
    await page.getByText("quote valid for").waitFor();
    await page.getByRole("button", { name: wallet.name, exact: true }).click();
    await page.getByRole("button", { name: `Pay $0.001 with ${wallet.name}` }).click();
    await page.getByText("wallet payment (no network fee)").waitFor();
    expect(wallet.requests).toEqual(["signTransaction"]);
    await closeBrowser();
  });

  test("offers curl, MCP and TypeScript snippets that work outside the console", async () => {
    const world = getWorld();
    const agent = await world.agent({ balance: 1_000_000n });
    const { page, closeBrowser } = await world.signedInBrowser(agent.wallet);
    await page.goto("playground?tool=echo");
    await page.getByLabel("message").fill('it\'s "quoted" $HOME `x` \\ ünï');
    const env = { ...process.env, TOOLGATE_API_KEY: agent.apiKey };
    const copied = async (tab: string, label: string) => {
      await page.getByRole("tab", { name: tab }).click();
      await page.getByRole("button", { name: `Copy ${label}` }).click();
      return page.evaluate("navigator.clipboard.readText()").then(String);
    };

    const line = await copied("curl", "curl command");
    const config = JSON.parse(await copied("MCP config", "MCP configuration"));
    const { url, headers } = config.mcpServers.toolgate;
    const authorization = headers.Authorization.replace("${TOOLGATE_API_KEY}", agent.apiKey);
    const client = new Client({ name: "test", version: "1" });
    await client.connect(
      new StreamableHTTPClientTransport(new URL(url), {
        requestInit: { headers: { Authorization: authorization } },
      }),
    );
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("echo");
    await client.close();

    const program = await copied("TypeScript", "TypeScript program");
    const options = ["--conditions=toolgate-source", "--input-type=module-typescript", "-e", program];
    const [fromShell, fromProgram] = await Promise.all([
      run("sh", ["-c", line], { env }),
      run(process.execPath, options, { env, cwd: path.resolve(import.meta.dirname, "../..") }),
    ]);
    expect(fromShell.stdout).toContain(JSON.stringify('it\'s "quoted" $HOME `x` \\ ünï'));
    expect(fromProgram.stdout).toContain("ünï");
    await closeBrowser();
  });
}
