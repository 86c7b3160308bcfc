import { spawn, type ChildProcess } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openBrowser, type TestBrowser } from "../browser/browser.ts";
import { runToolgateHere } from "../cli/toolgate.ts";
import { stopChild, whileRuns } from "../support/child.ts";
import { secret } from "../support/record.ts";

/** The first visit after `npm start`: the printed console address and the printed wallet. */

let folder: string;
let env: NodeJS.ProcessEnv;
let dev: ChildProcess;
let output = "";
let browser: TestBrowser;
beforeAll(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), "toolgate-console-"));
  chmodSync(folder, 0o755);
  env = {
    ...{ PATH: process.env["PATH"], HOME: process.env["HOME"], DATA_DIR: folder },
    ...{ PORT: "0", GRPC_PORT: "0", SANDBOX_ISOLATION: "off" },
  };
  dev = spawn(process.execPath, ["src/main.mjs", "dev", "--no-demo"], {
    env,
    stdio: ["ignore", "pipe", "ignore"],
  });
  dev.stdout?.setEncoding("utf8").on("data", (text: string) => (output += text));
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await stopChild(dev);
  rmSync(folder, { recursive: true, force: true });
});

it("a new user signs in, creates a key, deposits, buys and downloads the statement", async () => {
  const ready = /Development wallet[\s\S]*--account acct_\w{32}/;
  await whileRuns(dev, expect.poll(() => output).toMatch(ready));
  const consoleUrl = /http:\S+\/console/.exec(output)?.[0] ?? "";
  const wallet = /signs in with (\w{32,44})/.exec(output)?.[1] ?? "";
  const { page, closeBrowser } = await browser.openFor(`${consoleUrl}/`);
  await page.goto("");
  await page.getByRole("button", { name: "Development wallet" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();

  const apiKey = await newKey(page);
  const status = async () => (await call(consoleUrl, apiKey)).status;
  expect(await status()).toBe(200);

  await page.goto("deposit");
  await page.getByLabel("Amount in USDC").fill("2.5");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByText("Send no real USDC").waitFor();
  expect(await page.getByRole("img", { name: "Solana Pay code of this deposit" }).count()).toBe(0);
  await page.getByRole("button", { name: "Pay $2.50" }).click();
  await page.getByText("Credited to your balance").waitFor();

  await page.goto("playground");
  await page.getByRole("button", { name: "Create a temporary key" }).click();
  await page.getByText(/^expires in/).waitFor();
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByText(/^Charged .*, paid from balance/).waitFor();

  await page.goto("activity?tab=statement");
  await page.getByRole("button", { name: "Export CSV" }).click();
  const downloading = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download CSV" }).click();
  const file = await readFile(await (await downloading).path(), "utf8");
  const [, deposited, spent, left] =
    /,deposit,.*,2\.500000,(2\.500000),[\s\S]*,charge,.*,-(0\.\d{6}),(\d\.\d{6}),rcpt_/.exec(file) ?? [];
  const micro = (usdc = "") => BigInt(usdc.replace(".", ""));
  expect([micro(left), micro(spent) > 0n], file).toEqual([micro(deposited) - micro(spent), true]);

  await page.goto("keys");
  await page.getByRole("button", { name: "Revoke From outside" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
  await expect.poll(status).toBe(401);

  await page.goto("settings");
  await page.getByText(wallet, { exact: true }).waitFor();
  await page.goto("operator");
  await page.getByText("This page is for operators").waitFor();
  // The command that was printed beside the wallet.
  const { 0: grant } = /accounts operator --account acct_\w+/.exec(output) ?? [""];
  expect((await runToolgateHere({ DATA_DIR: folder }, grant.split(" "))).code).toBe(0);
  await page.reload();
  await page.getByText("Owed to accounts").waitFor();
  await closeBrowser();
});

async function newKey(page: Page): Promise<string> {
  await page.goto("keys");
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByLabel("Name").fill("From outside");
  await page.getByRole("button", { name: "Create key" }).click();
  const shown = (await page.getByRole("region", { name: "API key" }).textContent())?.trim() ?? "";
  await page.getByRole("button", { name: "I have saved it" }).click();
  return secret("an API key", shown);
}

/** Makes a free call over HTTP. */
function call(consoleUrl: string, apiKey: string): Promise<Response> {
  return fetch(new URL("/v1/mcp/tools/call", consoleUrl), {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ tool: "get_status", params: {} }),
  });
}
