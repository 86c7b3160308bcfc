import { execFile } from "node:child_process";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { POLL, type ConsoleWorld } from "./console-world.ts";
import { axeViolations } from "./appearance.ts";
import { testWallet, type TestWallet } from "./wallet.ts";

const run = promisify(execFile);
/** Chromium logs every response with status 400 or more. */
const expected = [/status of 402/, /status of 503/];

const FAILED_CODE = {
  run_id: "run_1",
  status: "failed",
  stdout: "one\ntwo\n",
  stderr: "",
  stdout_truncated: false,
  stderr_truncated: false,
  result: null,
  error: { name: "ValueError", value: "no", traceback: "Traceback:\n  line 1\nValueError: no\n" },
  exit_code: 1,
  duration_ms: 12,
};
const SANDBOX_RECEIPT = { receipt_id: "rcpt_1", debited_usdc_microusd: 10_000, paid_by: "balance" };

/** Opens the playground and creates a temporary key. */
async function ready(page: Page): Promise<void> {
  await page.goto("playground");
  await page.getByRole("button", { name: "Create a temporary key" }).click();
  await page.getByText(/^expires in/).waitFor();
}

async function buy(page: Page, wallet: TestWallet): Promise<void> {
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByText("quote valid for").waitFor();
  await page.getByRole("button", { name: wallet.name, exact: true }).click();
  await page.getByRole("button", { name: `Pay $0.001 with ${wallet.name}` }).click();
}

export function playgroundFlows(world: ConsoleWorld): void {
  test("pays a quote with a signature alone and links the receipt when the balance is too small", async () => {
    const agent = await world.agent({ balance: 400n });
    const wallet = testWallet(agent.wallet);
    const { page } = await world.signedInBrowser(agent.wallet, { wallets: [wallet], expected });
    await ready(page);
    await page.getByText("$0.001, needs $0.0006 more").waitFor();
    await buy(page, wallet);
    await page.getByText("wallet payment (no network fee)").waitFor();
    expect(wallet.requests).toEqual(["signTransaction"]);
    await page.getByRole("link", { name: "View receipt" }).click();
    await page.getByRole("heading", { name: "Receipt" }).first().waitFor();
    await page.getByText("$0.001").first().waitFor();
    expect(await world.violations()).toEqual([]);
  });

  test("waits for the payment of a wallet that submits transactions itself", async () => {
    const agent = await world.agent();
    const wallet = testWallet(agent.wallet, {
      name: "Sending wallet",
      abilities: ["signIn", "signAndSendTransaction"],
      rpcUrl: world.chain.url,
    });
    const { page } = await world.signedInBrowser(agent.wallet, { wallets: [wallet], expected });
    await ready(page);
    await buy(page, wallet);
    await page.getByText("Charged $0.001, wallet payment").waitFor();
    expect(wallet.requests).toEqual(["signAndSendTransaction"]);
  });

  test("pays from the balance first, runs free tools and reports invalid parameters", async () => {
    const agent = await world.agent({ balance: 1_000_000n });
    const { page } = await world.signedInBrowser(agent.wallet, { expected: [/status of 400/] });
    await ready(page);
    await page.getByText("$0.001, paid from balance", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText("Charged $0.001, paid from balance").waitFor();
    expect(await world.postgres.ledger.balance(agent.accountId)).toBe(999_000n);
    await page.getByLabel("context_length").fill("many");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText("Enter a whole number").waitFor();
    await page.getByLabel("context_length").fill("0");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText("400 INVALID_REQUEST").waitFor();
    await page.getByLabel("Tool", { exact: true }).selectOption("echo");
    await page.getByText("No calls yet").waitFor();
    await page.getByRole("table", { name: "Call history" }).getByRole("button").first().click();
    await page.getByText("400 INVALID_REQUEST").waitFor();
    await page.getByLabel("Tool", { exact: true }).selectOption("echo");
    await page.getByLabel("message").fill("");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText("Required", { exact: true }).waitFor();
    await page.getByLabel("message").fill("hello");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText("Free call").waitFor();
    const table = page.getByRole("table", { name: "Call history" });
    expect(await table.getByRole("row").count()).toBe(4);
  });

  test("shows how executed code ended beside its charge, and its output once, as text", async () => {
    const agent = await world.agent({ balance: 1_000_000n });
    const { page } = await world.signedInBrowser(agent.wallet, {
      // The gateway has no such tool, so no price either.
      expected: [/status of 404/],
    });
    // Not every machine can run the sandbox: one more tool in the catalogue, and its answer.
    await page.route(/GetCapabilities/, async (route) => {
      const response = await route.fetch();
      const { tools, ...rest } = await response.json();
      const sandbox = { name: "sandbox_execute", status: "TOOL_STATUS_ACTIVE", billable: true };
      const others = tools.filter(({ name }: { name: string }) => name !== sandbox.name);
      await route.fulfill({ response, json: { ...rest, tools: [...others, sandbox] } });
    });
    await page.route(/tools\/call/, (route) =>
      route.fulfill({ json: { ok: true, result: FAILED_CODE, receipt: SANDBOX_RECEIPT } }),
    );
    await page.goto("playground?tool=sandbox_execute");
    await page.getByRole("button", { name: "Create a temporary key" }).click();
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText("Failed. Charged $0.01, paid from balance").waitFor();
    const text = async (name: string) =>
      (await page.getByRole("region", { name, exact: true }).innerText()).trim();
    expect(await text("error")).toBe(FAILED_CODE.error.traceback.trim());
    expect(await text("output (stdout)")).toBe("one\ntwo");
    expect(await page.getByText("ValueError: no").filter({ visible: true }).count()).toBe(1);
    const history = page.getByRole("table", { name: "Call history" });
    await history.getByText("Failed", { exact: true }).waitFor();
  });

  test("charges nothing when the payment is rejected, and waits for a pending payment without paying twice", async () => {
    const agent = await world.agent();
    const wallet = testWallet(agent.wallet, { rejects: true });
    const { page } = await world.signedInBrowser(agent.wallet, { wallets: [wallet], expected });
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
  });

  test("retries a lost response with the same payment", async () => {
    const agent = await world.agent();
    const wallet = testWallet(agent.wallet);
    const more = [...expected, /ERR_FAILED/];
    const { page, context } = await world.signedInBrowser(agent.wallet, {
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
  });

  test("requests a new quote instead of paying an expired one", async () => {
    const agent = await world.agent();
    const wallet = testWallet(agent.wallet);
    const { page } = await world.signedInBrowser(agent.wallet, { wallets: [wallet], expected });
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
  });

  test("offers curl, MCP and TypeScript snippets that work outside the console", async () => {
    const agent = await world.agent({ balance: 1_000_000n });
    const { page } = await world.signedInBrowser(agent.wallet);
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
    const options = ["--input-type=module-typescript", "-e", program];
    const [fromShell, fromProgram] = await Promise.all([
      run("sh", ["-c", line], { env }),
      run(process.execPath, options, { env, cwd: path.resolve(import.meta.dirname, "../..") }),
    ]);
    expect(fromShell.stdout).toContain(JSON.stringify('it\'s "quoted" $HOME `x` \\ ünï'));
    expect(fromProgram.stdout).toContain("ünï");
  });
  test("keeps form, key and call over Back and reload, recovers a lost result and forgets all at sign-out", async () => {
    const agent = await world.agent({ balance: 10_000n });
    const { page } = await world.signedInBrowser(agent.wallet, {
      wallets: [testWallet(agent.wallet)],
      expected: [/status of 401/],
    });
    const button = (name: string) => page.getByRole("button", { name, exact: true });
    const balance = () => world.postgres.ledger.balance(agent.accountId);
    const edited = () => page.getByLabel("context_length").inputValue();
    await ready(page);
    await page.getByLabel("context_length").fill("4096");
    await button("Run").click();
    await page.getByRole("link", { name: "View receipt" }).click();
    await page.getByRole("heading", { name: "Receipt" }).first().waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "Call details" }).waitFor();
    expect(await edited()).toBe("4096");

    // The call is charged, but its response is lost.
    const lost = /tools\/call/;
    await page.route(lost, async (route) => void (await route.fetch()), { times: 1 });
    await button("Run").click();
    await expect.poll(balance, POLL).toBe(8_000n);
    await page.reload();
    await button("Show the result").click();
    await page.getByText("Charged $0.001, paid from balance").waitFor();
    expect(await balance()).toBe(8_000n);
    expect(await edited()).toBe("4096");
    await page.reload();
    await page.getByText("Last call before the reload").waitFor();

    // While the call runs, its button keeps the focus, and Enter sends no second call.
    await page.route(lost, () => {}, { times: 1 });
    await button("Run").click();
    await button("Stop").waitFor();
    expect(await page.locator(":focus").innerText()).toBe("Run");
    await page.keyboard.press("Enter");
    await page.getByLabel("context_length").press("Enter");
    await button("Stop").click();
    await page.getByText("The connection was closed.").waitFor();
    expect(await balance()).toBe(8_000n);
    await button("Use another key").click();
    await button("Create a temporary key").click();
    const working = async () =>
      (await world.postgres.apiKeys.list(agent.accountId)).filter(
        ({ name, revokedAt }) => name === "Playground" && revokedAt === undefined,
      ).length;
    await expect.poll(working, POLL).toBe(1);

    await button("Sign out").click();
    await button("Test wallet").click();
    await button("Create a temporary key").waitFor();
    expect(await page.getByText("No calls yet").count()).toBe(1);
    expect(await edited()).toBe("8192");
    expect(await page.evaluate("sessionStorage.length")).toBe(0);
  });

  test("stops running code with sandbox_cancel and shows the result of the call", async () => {
    const agent = await world.agent({ balance: 10_000n });
    const { page } = await world.signedInBrowser(agent.wallet);
    // The gateway of this file has no sandbox, so its two tools are simulated.
    await page.route(/GetCapabilities/, async (route) => {
      const response = await route.fetch();
      const catalogue = await response.json();
      for (const tool of catalogue.tools)
        if (tool.name.startsWith("sandbox_")) tool.status = catalogue.tools[0].status;
      await route.fulfill({ response, json: catalogue });
    });
    const cancelled = Promise.withResolvers<string>();
    const executed = Promise.withResolvers<string>();
    await page.route(/tools\/(call|price)/, async (route) => {
      const { tool, params } = route.request().postDataJSON();
      if (route.request().url().endsWith("price"))
        return route.fulfill({ json: { price_usdc_microusd: 500 } });
      if (tool === "sandbox_cancel") cancelled.resolve(params.run_id);
      else executed.resolve(params.run_id);
      await cancelled.promise;
      return route.fulfill({ json: { ok: true, result: { status: "cancelled" } } });
    });
    await page.goto("playground?tool=sandbox_execute");
    await page.getByRole("button", { name: "Create a temporary key" }).click();
    await page.getByRole("button", { name: "Run" }).click();
    const runId = await executed.promise;
    await page.getByRole("button", { name: "Stop" }).click();
    expect([await cancelled.promise, runId.startsWith("playground-")]).toEqual([runId, true]);
    await page.getByRole("heading", { name: "Result" }).waitFor();
  });
}
