import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { configFileSchema } from "../../src/config/config-file.ts";
import type { Agent } from "../support/world.ts";
import { navigate, POLL, type ConsoleWorld } from "./console-world.ts";
import { LONG_NAME } from "./key-flows.ts";
import { overflow } from "./layout.ts";

/** The holder of a blocked account reads the reason on every page, and what is not possible is disabled. */
async function checkBlocked(world: ConsoleWorld, agent: Agent): Promise<void> {
  const { page } = await world.signedInBrowser(agent.wallet);
  const banner = page.getByRole("alert").filter({ hasText: "Your account is blocked" });
  const hint = page.getByText("Not possible: your account is blocked.");
  const isDisabled = (name: string) => page.getByRole("button", { name, exact: true }).isDisabled();
  await page.goto("");
  await banner.getByText("Reason: Asked us to").waitFor();
  for (const [at, button] of [
    ["keys", "Create key"],
    ["deposit", "Continue"],
    ["playground", "Create a temporary key"],
  ] as const) {
    await navigate(page, at);
    await hint.waitFor();
    expect([await isDisabled(button), await banner.count()], at).toEqual([true, 1]);
  }
}

function hasFocus(target: Locator): Promise<boolean> {
  return target.evaluate((element) => element === element.ownerDocument.activeElement);
}

/** Answers the next matching request with 503. */
async function failOnce(page: Page, url: RegExp): Promise<void> {
  await page.route(url, (route) => route.fulfill({ status: 503, body: "{}" }), { times: 1 });
}

async function refund(page: Page, reason: string): Promise<void> {
  await page.getByLabel("Reason").fill(reason);
  await page.getByRole("button", { name: "Refund $0.001" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

export function operatorFlows(world: ConsoleWorld): void {
  test("lets an operator find, adjust, block and unblock an account, and logs each action", async () => {
    const [operator, agent] = [await world.agent({ operator: true }), await world.agent()];
    await world.postgres.apiKeys.create({ accountId: agent.accountId, name: LONG_NAME, scopes: [] });
    const { page } = await world.signedInBrowser(operator.wallet);
    await page.goto("operator/accounts");
    await page.getByLabel("Search").fill(agent.wallet.publicKey.toBase58().slice(0, 12));
    await page.getByRole("table").getByRole("link").first().click();
    await page.getByText(agent.accountId).waitFor();
    await page.getByTitle(LONG_NAME).waitFor();
    expect(await overflow(page)).toBe(0);

    await page.getByRole("button", { name: "Adjust balance" }).click();
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByText("Enter a reason").waitFor();
    await expect.poll(() => hasFocus(page.getByLabel("Amount")), POLL).toBe(true);
    await page.getByLabel("Amount").fill("1.25");
    await page.getByLabel("Reason").fill("Goodwill");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByText("New balance: $1.25 (was $0.00)").waitFor();
    await page.getByRole("button", { name: "Add $1.25" }).click();
    await page.getByText("Balance adjusted by +$1.25").waitFor();
    expect(await world.postgres.ledger.balance(agent.accountId)).toBe(1_250_000n);

    await page.getByRole("button", { name: "Adjust balance" }).click();
    await page.getByText("Deduct", { exact: true }).click();
    await page.getByLabel("Amount").fill("100");
    await page.getByLabel("Reason").fill("Too much");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByText("At most $1.25, the balance.").waitFor();
    expect(await page.getByText("New balance").count()).toBe(0);
    await page.getByRole("button", { name: "Cancel" }).click();

    await page.getByRole("button", { name: "Block", exact: true }).click();
    await page.getByLabel("Reason").fill("Asked us to");
    await page.getByRole("dialog").getByRole("button", { name: "Block" }).click();
    await expect.poll(async () => (await world.call(agent, "get_status", {})).status, POLL).toBe(403);
    await checkBlocked(world, agent);
    await page.getByRole("button", { name: "Unblock" }).click();
    await page.getByLabel("Reason").fill("It is cleared up");
    await page.getByRole("dialog").getByRole("button", { name: "Unblock" }).click();
    await expect.poll(async () => (await world.call(agent, "get_status", {})).status, POLL).toBe(200);

    const { tiers } = configFileSchema.parse({ tiers: { gold: { rate_per_minute: 600, burst: 50 } } });
    const version = { source: "apply", actor: "test", note: undefined, expected: undefined } as const;
    await world.postgres.configVersions.apply({ ...version, document: JSON.stringify({ tiers }), tiers });
    await page.getByRole("button", { name: "Set rate limits" }).click();
    await page.getByLabel("Tier").fill("gold");
    await page.getByLabel("Requests per minute", { exact: true }).fill("0");
    await page.getByLabel("Burst", { exact: true }).fill("77");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("600 requests/min, bursts of 77").waitFor();

    await page.getByRole("link", { name: "Audit log" }).click();
    const log = page.getByRole("table", { name: "Operator actions" });
    await log.waitFor();
    expect(await log.getByRole("row").count()).toBe(5);
    expect(await log.textContent()).toContain("Adjusted a balance by $1.25: “Goodwill”");
    const rows = () => log.getByRole("row").count();
    await page.getByLabel("Action", { exact: true }).selectOption("Adjusted a balance");
    await expect.poll(rows, POLL).toBe(2);
    await log.getByText("account.adjust", { exact: true }).click();
    await log.getByText('"amount_usdc_microusd": "1250000"').waitFor();
    await page.getByLabel("Account or target", { exact: true }).fill(operator.accountId);
    await page.getByText("No matching actions").waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    await expect.poll(rows, POLL).toBe(5);
  });

  test("lets an operator assign a transfer in suspense and run a clean audit", async () => {
    const [operator, agent] = [await world.agent({ operator: true }), await world.agent()];
    const expected = [/status of 503/];
    await world.pay(agent, 750_000n, "<b>to my account</b>");
    world.chain.chain.advance(40);
    await expect.poll(async () => (await world.postgres.treasuryLedger.suspended()).count, POLL).toBe(1);
    const { page } = await world.signedInBrowser(operator.wallet, { expected });
    await page.goto("operator/payments");
    await page.getByText("<b>to my account</b>").waitFor();
    await page.getByRole("button", { name: "Assign", exact: true }).click();
    const assign = page.getByRole("button", { name: "Assign $0.75" });
    const recipient = page.getByLabel("Account ID or wallet");
    await page.getByLabel("Reason").fill("They wrote to us");
    await recipient.fill(operator.wallet.publicKey.toBase58().slice(0, 40));
    await assign.click();
    await page.getByText("No account has this ID or wallet").waitFor();
    await expect.poll(() => hasFocus(recipient), POLL).toBe(true);
    await recipient.fill(operator.wallet.publicKey.toBase58());
    await page.getByText(`The amount is added to the balance of ${operator.accountId}`).waitFor();
    await page.getByRole("button", { name: "Use the sender’s account" }).click();
    await expect.poll(() => recipient.inputValue(), POLL).toBe(agent.accountId);
    await failOnce(page, /AssignSuspense/);
    await assign.click();
    const failure = page.getByRole("dialog").getByRole("alert");
    await failure.waitFor();
    await page.getByLabel("Reason").fill("They wrote to us again");
    await expect.poll(() => failure.count(), POLL).toBe(0);
    await assign.click();
    await page.getByText("No unassigned transfers").waitFor();
    expect(await world.postgres.ledger.balance(agent.accountId)).toBe(750_000n);
    await page.getByRole("link", { name: "Operations" }).click();
    await page.getByRole("button", { name: "Run now" }).click();
    await page.getByText("Clean", { exact: true }).waitFor();
    await page.getByText(/^\d+ rules, all clean$/).click();
    await page.getByRole("table", { name: "Invariants of the ledger" }).waitFor();
  });

  test("shows an operator the receipts, runs and statement of an account, and refunds a receipt", async () => {
    const operator = await world.agent({ operator: true });
    const agent = await world.agent({ balance: 1_000_000n });
    for (const size of [7, 8]) await world.call(agent, "vram_estimate", { parameters_b: size });
    const { page } = await world.signedInBrowser(operator.wallet);
    await page.goto(`operator/accounts/${agent.accountId}`);
    const receipts = page.getByRole("table", { name: "Receipts" });
    await page.getByText("2 receipts", { exact: true }).waitFor();
    expect(await receipts.getByText("test", { exact: true }).count()).toBe(2);
    await receipts
      .getByRole("button", { name: /^Refund/ })
      .first()
      .click();
    await refund(page, "Wrong answer");
    await receipts.getByText("Refunded", { exact: true }).nth(1).waitFor();
    expect(await receipts.getByRole("button", { name: /^Refund/ }).count()).toBe(1);
    await receipts.getByRole("link").last().click();
    await page.getByRole("button", { name: "Refund" }).click();
    await refund(page, "Wrong again");
    await page.getByText("$0.001 refunded").first().waitFor();
    expect(await world.postgres.ledger.balance(agent.accountId)).toBe(1_000_000n);
    await page.getByRole("link", { name: /^run_/ }).click();
    await page.getByRole("heading", { name: "Timeline" }).waitFor();
    await page.getByRole("link", { name: "All runs" }).click();
    await page.getByText("2 runs", { exact: true }).waitFor();
    await page.getByRole("tab", { name: "Statement" }).click();
    await page.getByText("5 entries", { exact: true }).waitFor();
    expect(new URL(page.url()).pathname).toContain(`/operator/accounts/${agent.accountId}`);

    await page.goto("operator");
    await page.getByLabel("Identifier").fill(agent.apiKey);
    await page.getByLabel("Identifier").press("Enter");
    const story = page.getByRole("table", { name: "What happened" });
    await story.getByText("reason: Wrong again").waitFor();
    expect(await story.getByText("refunded", { exact: true }).count()).toBe(2);
    expect(page.url()).not.toContain(agent.apiKey);
  });

  test("lets an operator compare, publish and roll back a draft, and see jobs and revenue", async () => {
    const operator = await world.agent({ operator: true });
    const buyer = await world.agent({ balance: 1_000_000n });
    await world.call(buyer, "vram_estimate", { parameters_b: 7 });
    const first = { tiers: { gold: { rate_per_minute: 600, burst: 50 } } };
    const { tiers } = configFileSchema.parse(first);
    const version = { source: "apply", actor: "test", note: undefined, expected: undefined } as const;
    await world.postgres.configVersions.apply({ ...version, document: JSON.stringify(first), tiers });
    const { page } = await world.signedInBrowser(operator.wallet, { expected: [/status of 400/] });
    await page.goto("operator/configuration");
    const document = page.getByLabel("Document (JSON)");
    const button = (name: string) => page.getByRole("button", { name, exact: true });
    const draft = async (rate: number) => {
      await button("Edit as draft").click();
      expect(await document.inputValue()).toContain('"gold"');
      const silver = { rate_per_minute: rate, burst: 10 };
      const gold = { rate_per_minute: 600, burst: 50 };
      await document.fill("{");
      await expect.poll(() => button("Compare with the version in force").isDisabled(), POLL).toBe(true);
      // Longer than an address may be.
      await document.fill(JSON.stringify({ tiers: { gold, silver } }) + " ".repeat(70_000));
    };
    const compare = async () => {
      await button("Compare with the version in force").click();
      await page.getByRole("table", { name: "Changes" }).waitFor();
    };
    await draft(100);
    await button("Discard").click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    const text = await document.inputValue();
    await document.fill('{"tiers": {"gold": {"rate_per_minute": "many", "burst": "more"}}}');
    await button("Compare with the version in force").click();
    // One problem a line.
    await page
      .getByRole("alert")
      .getByText(/problems:\n.*rate_per_minute.*\n.*burst/)
      .waitFor();
    expect((await page.getByRole("alert").innerText()).split("\n").length).toBeGreaterThan(2);
    await document.fill(text);
    await page.reload();
    await compare();
    await page.getByText("tier silver: appears").waitFor();
    await page.getByLabel("Note").fill("More for some");
    await button("Publish to all instances").click();
    await page.getByRole("heading", { name: /is in force$/ }).waitFor();
    await draft(50);
    await compare();
    await page.getByText("Notice it").waitFor();
    expect(await button("Publish to all instances").isDisabled()).toBe(true);
    await page.getByLabel("Callers may notice these changes").check();
    const answer = Promise.withResolvers<void>();
    await page.route(/GetConfigVersion/, async (route) => {
      await answer.promise;
      await route.continue();
    });
    const asked = page.waitForRequest(/GetConfigVersion/);
    await button("Publish to all instances").click();
    await asked;
    // The version before is not in force any more.
    expect(await page.getByRole("heading", { name: /is in force$/ }).count()).toBe(0);
    answer.resolve();
    const versions = page.getByRole("table", { name: "Versions" });
    await page.getByRole("heading", { name: /is in force$/ }).waitFor();
    const inForce = await world.postgres.configVersions.newestNumber();
    await versions.getByText(`${inForce}, in force`).waitFor();
    await versions.getByRole("button", { name: "Roll back" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("tier silver.rate_per_minute: 50 → 100").waitFor();
    await dialog.getByRole("button", { name: "Roll back" }).click();
    await versions.getByText("rollback", { exact: true }).waitFor();
    const newest = await world.postgres.configVersions.newest();
    expect(JSON.parse(newest?.document ?? "{}")).toMatchObject({
      tiers: { silver: { rate_per_minute: 100 } },
    });

    await page.goto("operator/revenue");
    await page.getByRole("table", { name: "Revenue by account" }).waitFor();
    await page.goto("operator");
    const jobs = page.getByRole("table", { name: "Background jobs" });
    await jobs.getByText("watch", { exact: true }).waitFor();
    await page.getByText(/^leader .*, this instance$/).waitFor();
  });

  test("shows operator pages to operators only", async () => {
    const agent = await world.agent();
    const { page } = await world.signedInBrowser(agent.wallet);
    await page.goto("operator/accounts");
    await page.getByText("This page is for operators").waitFor();
    expect(await page.getByRole("link", { name: "Audit log" }).count()).toBe(0);
  });

  test("adjusts a balance once when the response is lost and the request retried", async () => {
    const [operator, agent] = [await world.agent({ operator: true }), await world.agent()];
    const { page, context } = await world.signedInBrowser(operator.wallet, { expected: [/ERR_FAILED/] });
    await page.goto(`operator/accounts/${agent.accountId}`);
    await page.getByRole("button", { name: "Adjust balance" }).click();
    await page.getByLabel("Amount").fill("0.000001");
    await page.getByLabel("Reason").fill("Rounding");
    await page.getByRole("button", { name: "Continue" }).click();
    await context.route(
      /AdjustBalance/,
      async (route) => {
        await route.fetch();
        await route.abort();
      },
      { times: 1 },
    );
    await page.getByRole("button", { name: "Add $0.000001" }).click();
    await page.getByText("The gateway cannot be reached").waitFor();
    await page.getByRole("button", { name: "Add $0.000001" }).click();
    await page.getByText("Balance adjusted by +$0.000001").waitFor();
    expect(await world.postgres.ledger.balance(agent.accountId)).toBe(1n);
  });
}
