import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import process from "node:process";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { secret } from "../support/record.ts";
import { query } from "../support/database-server.ts";
import { verified, WebhookReceiver } from "../support/webhook-receiver.ts";
import { POLL, type ConsoleWorld } from "./console-world.ts";
import { testWallet } from "./wallet.ts";

/** The first day of a customer, with an agent that runs the commands of the page. */
export function newcomerFlow(world: ConsoleWorld): void {
  test("leads a newcomer from sign-in to a refund, with a budget, its webhook and an exact statement", async () => {
    const wallet = world.chain.controls.createWallet({ microUsd: 10_000_000n });
    const receiver = await WebhookReceiver.open();
    const { page } = await world.browserFor({ wallets: [testWallet(wallet)] });
    const button = (name: string | RegExp) => page.getByRole("button", { name });
    const to = (name: string) =>
      page.getByRole("navigation").getByRole("link", { name, exact: true }).click();

    await page.goto("");
    await button("Test wallet").click();
    const steps = page.getByRole("region", { name: "First steps" });
    const done = () => steps.getByRole("heading", { name: "(done)" }).count();
    await steps.getByText("Waiting for the first paid call.").waitFor();
    expect(await done()).toBe(1);

    await steps.getByRole("link", { name: "Deposit" }).click();
    await page.getByLabel("Amount in USDC").fill("2.5");
    await button("Continue").click();
    await button("Test wallet").click();
    await button("Pay $2.50").click();
    await page.getByText("Credited to your balance").waitFor();

    await to("Webhooks");
    await button("Add endpoint").click();
    await page.getByLabel("URL").fill(receiver.url);
    await button("Add endpoint").click();
    const signingSecret = (await page.getByText(/^whsec_/).textContent()) ?? "";
    await button("I have saved it").click();

    await to("Settings");
    await page.getByLabel("Store params and results").selectOption({ label: "Of all calls, free ones too" });
    await page.getByText("Saved").waitFor();

    await to("Overview");
    await steps.getByRole("link", { name: "Create a key" }).click();
    await page.getByLabel("Name").fill("My agent");
    await page.getByLabel("Daily limit").fill("0.0012");
    await button("Create key").click();
    const shown = await page.getByRole("region", { name: "API key" }).textContent();
    const apiKey = secret("an API key", shown?.trim() ?? "");
    await button("I have saved it").click();

    await to("Overview");
    await expect.poll(done, POLL).toBe(3);
    const command = (await steps.getByLabel("first call", { exact: true }).textContent()) ?? "";
    expect(await answerOf(command, apiKey)).toMatchObject({ ok: true, receipt: { status: "final" } });
    await steps.getByRole("link", { name: "vram_estimate, $0.001" }).waitFor();
    expect(await done()).toBe(4);

    await to("Activity");
    await page.getByRole("tab", { name: "Requests" }).click();
    await page.getByText("1 request", { exact: true }).waitFor();
    await page.getByLabel("Live").check();
    const refused = await answerOf(command, apiKey);
    expect(refused).toMatchObject({
      code: "FORBIDDEN",
      message: expect.stringContaining("may take $0.0012 a day"),
    });
    await page.getByText("2 requests", { exact: true }).waitFor();
    const rows = page.getByRole("table", { name: "Requests" }).getByRole("link");
    await rows.last().click();
    const sent: unknown = JSON.parse(/-d '(.*)'/s.exec(command)?.[1] ?? "");
    const params = await page.getByRole("region", { name: "params as JSON" }).textContent();
    expect(sent).toMatchObject({ params: JSON.parse(params ?? "") });

    await receiver.atLeast(3);
    const notices = receiver.received.map((webhook) => verified(signingSecret, webhook));
    expect(notices.map(({ type }) => type).toSorted()).toEqual([
      "budget.exhausted",
      "budget.threshold_reached",
      "webhook.test",
    ]);

    const receiptId = await refundNewest(world);
    await receiver.atLeast(4);
    expect(verified(signingSecret, receiver.received[3]!)).toMatchObject({
      type: "receipt.refunded",
      data: { receipt_id: receiptId },
    });
    await to("Activity");
    const receipts = page.getByRole("table", { name: "Receipts" });
    await receipts.locator("tbody").getByText("Refunded", { exact: true }).waitFor();

    expect(await statementOf(page)).toEqual(await entriesOf(world, wallet.publicKey.toBase58()));
    expect(await world.violations()).toEqual([]);
    receiver.close();
  });

  /** An operator refunds the newest receipt in the console. @returns its id */
  async function refundNewest(world: ConsoleWorld): Promise<string> {
    const { rows } = await query(
      world.database.url,
      "select 'acct_' || encode(uuid_send(account_id), 'hex') as account, " +
        "'rcpt_' || encode(uuid_send(id), 'hex') as receipt from receipt order by id desc limit 1",
    );
    const operator = await world.agent({ operator: true });
    const { page } = await world.signedInBrowser(operator.wallet);
    await page.goto(`operator/accounts/${rows[0].account}`);
    const receipts = page.getByRole("table", { name: "Receipts" });
    await receipts.getByRole("button", { name: /^Refund/ }).click();
    await page.getByLabel("Reason").fill("The estimate was wrong");
    await page.getByRole("button", { name: "Refund $0.001" }).click();
    await receipts.locator("tbody").getByText("Refunded", { exact: true }).waitFor();
    return rows[0].receipt;
  }
}

/** Runs the command of the page in a shell that has the key. @returns the answer */
async function answerOf(command: string, apiKey: string): Promise<unknown> {
  const env = { PATH: process.env["PATH"], TOOLGATE_API_KEY: apiKey };
  const { stdout } = await promisify(execFile)("bash", ["-c", command], { env });
  // The headers come first.
  return JSON.parse(stdout.split(/\r?\n\r?\n/).at(-1) ?? "");
}

/** Kinds and amounts of the downloaded statement, micro-USD. */
async function statementOf(page: Page): Promise<[kind: string | undefined, amount: bigint][]> {
  await page.getByRole("tab", { name: "Statement" }).click();
  await page.getByRole("button", { name: "Export CSV" }).click();
  const downloading = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download CSV" }).click();
  const [head = "", ...lines] = (await readFile(await (await downloading).path(), "utf8"))
    .trim()
    .split(/\r?\n/);
  const columns = head.split(",");
  const [kind, amount] = [columns.indexOf("kind"), columns.indexOf("amount_usdc")];
  return lines.map((line) => {
    const cells = line.split(",");
    return [cells[kind], BigInt(Math.round(Number(cells[amount]) * 1_000_000))];
  });
}

/** The same of the ledger. */
async function entriesOf(world: ConsoleWorld, wallet: string): Promise<[kind: string, amount: bigint][]> {
  const { rows } = await query(
    world.database.url,
    `select kind, case when credit = account.id then amount else -amount end as amount
     from ledger_entry entry join account on account.id in (credit, debit)
     where wallet = '${wallet}' order by entry.id`,
  );
  return rows.map(({ kind, amount }: { kind: string; amount: string }) => [kind, BigInt(amount)]);
}
