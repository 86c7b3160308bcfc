import process from "node:process";
import type { Keypair } from "@solana/web3.js";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { HistoryService } from "#gen/toolgate/console/v1/history_service_pb.ts";
import { uuidOf } from "../../src/domain/core/ids.ts";
import { openPool } from "../../src/postgres/database/pool.ts";
import { SYSTEM_ACCOUNTS } from "../../src/postgres/database/system-accounts.ts";
import { signIn } from "../support/console.ts";
import { navigate, POLL, type ConsoleWorld } from "./console-world.ts";
import { overflow } from "./layout.ts";
import { CALLS, makeManyCalls } from "./many-calls.ts";

function parseMicroUsd(text: string): bigint {
  const match = /^(-?)\$([\d,]+)\.(\d{2,6})$/.exec(text.trim());
  if (!match) throw new Error(`${JSON.stringify(text)} is no amount`);
  const [, sign = "", whole = "", decimals = ""] = match;
  return BigInt(sign + whole.replaceAll(",", "") + decimals.padEnd(6, "0"));
}

/** A tool, key or total with its calls and micro-USD. */
type UsageRow = [name: string, calls: bigint, spent: bigint];

async function statValue(page: Page, label: string): Promise<bigint> {
  const stat = page.locator(".stat", { has: page.locator("dt", { hasText: label }) });
  return parseMicroUsd(await stat.locator(".stat-value").innerText());
}

async function usageRows(page: Page, caption: string): Promise<UsageRow[]> {
  const cells = await page
    .getByRole("table", { name: caption })
    .locator("tbody tr, tfoot tr")
    .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent ?? "")));
  return cells
    .map(([name = "", calls = "", spent = ""]): UsageRow => [
      name,
      BigInt(calls.replaceAll(",", "")),
      parseMicroUsd(spent),
    ])
    .sort(byName);
}

const byName = ([a]: readonly [string, ...unknown[]], [b]: readonly [string, ...unknown[]]) =>
  a < b ? -1 : 1;

/** Sums over the ledger's transfers only. */
class Sums {
  readonly #pool: ReturnType<typeof openPool>;
  readonly #account: string | undefined;

  constructor(url: string, accountId: string) {
    this.#pool = openPool(url, { max: 1, applicationName: "totals" });
    this.#account = uuidOf("acct", accountId);
  }

  async one(sql: string, ...more: unknown[]): Promise<bigint> {
    const { rows } = await this.#pool.query<{ sum: unknown }>(sql, more);
    return BigInt(String(rows[0]?.sum));
  }

  balance(account = this.#account): Promise<bigint> {
    return this.one(
      `select coalesce(sum(case when credit = $1 then amount else -amount end), 0) as sum
        from ledger_entry where $1 in (credit, debit)`,
      account,
    );
  }

  /** Charges since 00:00 UTC `days` days ago, or of all time; grouped by tool or key if given. */
  async charged(days: number | undefined, by?: "run.tool" | "api_key.name"): Promise<UsageRow[]> {
    const { rows } = await this.#pool.query<{ name: string; calls: unknown; spent: unknown }>(
      `select ${by ?? "'Total'"} as name, count(*) as calls, sum(receipt.debited) as spent
       from receipt join run on run.id = receipt.run_id join api_key on api_key.id = run.key_id
       where receipt.account_id = $1
         and ($2::integer is null or receipt.created_at >= date_trunc('day', now(),
           'UTC') - $2 * interval '1 day')
       group by 1`,
      [this.#account, days ?? null],
    );
    return rows.map(({ name, calls, spent }) => [name, BigInt(String(calls)), BigInt(String(spent))]);
  }

  /** As {@link charged}, without grouping. */
  async total(days: number | undefined): Promise<UsageRow> {
    const [total] = await this.charged(days);
    return total ?? ["Total", 0n, 0n];
  }

  /** As {@link charged}, with the total, sorted by name. */
  async table(days: number, by: "run.tool" | "api_key.name"): Promise<UsageRow[]> {
    return [...(await this.charged(days, by)), await this.total(days)].sort(byName);
  }

  liabilities(): Promise<bigint> {
    return this.one(
      `select coalesce(sum(change), 0) as sum from (
         select credit as account, amount as change from ledger_entry
         union all select debit, -amount from ledger_entry
       ) moved where account <> all ($1::uuid[])`,
      Object.values(SYSTEM_ACCOUNTS),
    );
  }

  close(): Promise<void> {
    return this.#pool.end();
  }
}

export function totalsTests(world: ConsoleWorld): void {
  test(`shows totals that match the ledger after ${CALLS} calls`, async () => {
    const agent = await world.agent({ operator: true });
    await makeManyCalls(world, agent);
    const sums = new Sums(world.database.url, agent.accountId);
    const { page } = await world.signedInBrowser(agent.wallet);

    await page.goto("?span=30d");
    await page.getByRole("table", { name: "By key" }).waitFor();
    const balance = await sums.balance();
    expect(parseMicroUsd(await page.locator(".balance-figure").innerText())).toBe(balance);
    expect(await statValue(page, "Reserved")).toBe(0n);
    const [, , month] = await sums.total(29);
    expect(await statValue(page, "Last 30 days")).toBe(month);
    expect(await statValue(page, "Spent today")).toBe((await sums.total(0))[2]);
    expect(await usageRows(page, "By tool")).toEqual(await sums.table(29, "run.tool"));
    expect(await usageRows(page, "By key")).toEqual(await sums.table(29, "api_key.name"));
    // Control: the range excludes earlier days.
    const [, calls, ever] = await sums.total(undefined);
    expect(ever).toBeGreaterThan(month);
    expect(calls).toBeGreaterThan(1_000n);

    await navigate(page, "keys");
    const keys = page.getByRole("table", { name: "API keys" });
    for (const [name, count, spent] of await sums.charged(undefined, "api_key.name")) {
      const row = keys.getByRole("row").filter({ has: page.getByText(name, { exact: true }) });
      const [spentText = "", callsText = ""] = (await row.getByRole("cell").nth(3).innerText()).split("\n");
      expect([parseMicroUsd(spentText), BigInt(callsText.replaceAll(/\D/g, ""))], name).toEqual([
        spent,
        count,
      ]);
    }

    await navigate(page, "activity?tab=statement");
    const newest = page.getByRole("table", { name: "Statement" }).getByRole("row").nth(1);
    expect(parseMicroUsd(await newest.getByRole("cell").last().innerText())).toBe(balance);

    await checkPagination(page);

    await navigate(page, "operator");
    await expect.poll(() => statValue(page, "Owed to accounts"), POLL).toBe(await sums.liabilities());
    await expect
      .poll(() => statValue(page, "Revenue"), POLL)
      .toBe(await sums.balance(SYSTEM_ACCOUNTS.revenue));
    expect(await world.violations()).toEqual([]);
    await sums.close();
    await reportPageTimes(world, agent.wallet);
  });
}

/** Every page has the same size and takes one request. */
async function checkPagination(page: Page): Promise<void> {
  let asked = 0;
  page.on("request", (request) => {
    if (request.url().includes("/ListReceipts")) asked++;
  });
  await navigate(page, "activity");
  const table = page.getByRole("table", { name: "Receipts" });
  await page.getByText("Page 1: 25 receipts", { exact: true }).waitFor();
  const [first] = await table.getByRole("link").all();
  const newest = await first?.getAttribute("href");
  await page.setViewportSize({ width: 390, height: 844 });
  const height = await page.locator("html").evaluate(({ scrollHeight }) => scrollHeight);
  expect(height, "25 receipts on a phone").toBeLessThan(2_800);
  expect(await overflow(page)).toBe(0);
  // Two lines: the time with the amount, then the rest without empty cells.
  const row = table.getByRole("row").nth(1);
  expect((await row.innerText()).split("\n").filter((text) => text === "—")).toEqual([]);
  const cells = await row.getByRole("cell").all();
  const [time, amount] = await Promise.all([cells[0]?.boundingBox(), row.locator(".is-lead").boundingBox()]);
  expect([time?.x, Math.abs((time?.y ?? 0) - (amount?.y ?? 99)) < 4]).toEqual([37, true]);
  await page.setViewportSize({ width: 1_280, height: 800 });
  expect(await page.getByRole("button", { name: "Newer" }).isDisabled()).toBe(true);
  for (let turned = 2; turned <= 10; turned++) {
    await page.getByRole("button", { name: "Older" }).click();
    await page.getByText(`Page ${turned}: 25 receipts`, { exact: true }).waitFor();
  }
  expect([await table.getByRole("row").count(), asked]).toEqual([26, 10]);
  await page.getByRole("button", { name: "Newer" }).click();
  await page.getByText("Page 9: 25 receipts", { exact: true }).waitFor();
  await table.getByRole("link").first().click();
  await page.getByRole("heading", { name: "Receipt", level: 1 }).waitFor();
  await page.goBack();
  await page.getByText("Page 9: 25 receipts", { exact: true }).waitFor();
  await page.reload();
  await page.getByText("Page 9: 25 receipts", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Newer" }).click();
  await page.getByText("Page 8: 25 receipts", { exact: true }).waitFor();
  // A new filter starts at the first page.
  await page.getByLabel("Status").selectOption("refunded");
  await page.getByText(/^(Page 1: )?[1-9]\d* receipts?$/).waitFor();
  await navigate(page, "activity");
  await expect.poll(() => table.getByRole("link").first().getAttribute("href"), POLL).toBe(newest);
  await page.getByText("Page 1: 25 receipts", { exact: true }).waitFor();
}

/** Prints how much slower the fiftieth page is than the first; not asserted, because timing is noisy. */
async function reportPageTimes(world: ConsoleWorld, wallet: Keypair): Promise<void> {
  const history = (await signIn(world, wallet)).client(HistoryService);
  const took: number[] = [];
  for (let cursor: string | undefined, count = 0; count < 50; count++) {
    const start = performance.now();
    const page = await history.listReceipts({ limit: 20, ...(cursor !== undefined && { cursor }) });
    took.push(performance.now() - start);
    expect(page.items).toHaveLength(20);
    cursor = page.nextCursor;
  }
  const least = (times: readonly number[]) => Math.min(...times);
  const ratio = least(took.slice(-10)) / least(took.slice(0, 10));
  process.stdout.write(
    `the fiftieth page of receipts takes ${ratio.toFixed(1)} times as long as the first\n`,
  );
}
