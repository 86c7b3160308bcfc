import { expect, test } from "vitest";
import { POLL, type ConsoleWorld } from "./console-world.ts";
import { LONG_NAME } from "./key-flows.ts";
import { overflow } from "./layout.ts";

/** Tests of the operator pages. */
export function operatorFlows(getWorld: () => ConsoleWorld): void {
  test("lets an operator find, adjust, block and unblock an account, and logs each action", async () => {
    const world = getWorld();
    const [operator, agent] = [await world.agent({ operator: true }), await world.agent()];
    await world.postgres.apiKeys.create({ accountId: agent.accountId, name: LONG_NAME, scopes: [] });
    const { page, closeBrowser } = await world.signedInBrowser(operator.wallet);
    await page.goto("operator/accounts");
    await page.getByLabel("Search").fill(agent.wallet.publicKey.toBase58().slice(0, 12));
    await page.getByRole("table").getByRole("link").first().click();
    await page.getByText(agent.accountId).waitFor();
    await page.getByText(LONG_NAME).waitFor();
    expect(await overflow(page)).toBe(0);

    await page.getByRole("button", { name: "Adjust balance" }).click();
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByText("Enter a reason").waitFor();
    await page.getByLabel("Amount").fill("1.25");
    await page.getByLabel("Reason").fill("Goodwill");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByText("New balance: $1.25 (was $0.00)").waitFor();
    await page.getByRole("button", { name: "Add $1.25" }).click();
    await page.getByText("Balance adjusted by +$1.25").waitFor();
    expect(await world.postgres.ledger.balance(agent.accountId)).toBe(1_250_000n);

    await page.getByRole("button", { name: "Block", exact: true }).click();
    await page.getByLabel("Reason").fill("Asked us to");
    await page.getByRole("dialog").getByRole("button", { name: "Block" }).click();
    await expect.poll(async () => (await world.call(agent, "get_status", {})).status, POLL).toBe(403);
    await page.getByRole("button", { name: "Unblock" }).click();
    await page.getByLabel("Reason").fill("It is cleared up");
    await page.getByRole("dialog").getByRole("button", { name: "Unblock" }).click();
    await expect.poll(async () => (await world.call(agent, "get_status", {})).status, POLL).toBe(200);

    await page.getByRole("link", { name: "Audit log" }).click();
    const log = page.getByRole("table", { name: "Operator actions" });
    await log.waitFor();
    expect(await log.getByRole("row").count()).toBe(4);
    expect(await log.textContent()).toContain("Goodwill");
    await closeBrowser();
  });

  test("lets an operator assign a transfer in suspense and run a clean audit", async () => {
    const world = getWorld();
    const [operator, agent] = [await world.agent({ operator: true }), await world.agent()];
    await world.pay(agent, 750_000n, "<b>to my account</b>");
    world.chain.chain.advance(40);
    await expect.poll(async () => (await world.postgres.treasuryLedger.suspended()).count, POLL).toBe(1);
    const { page, closeBrowser } = await world.signedInBrowser(operator.wallet);
    await page.goto("operator/payments");
    await page.getByText("<b>to my account</b>").waitFor();
    await page.getByRole("button", { name: "Assign", exact: true }).click();
    await page.getByLabel("Account ID").fill(agent.accountId);
    await page.getByLabel("Reason").fill("They wrote to us");
    await page.getByRole("button", { name: "Assign $0.75" }).click();
    await page.getByText("No unassigned transfers").waitFor();
    expect(await world.postgres.ledger.balance(agent.accountId)).toBe(750_000n);
    await page.getByRole("link", { name: "Operations" }).click();
    await page.getByRole("button", { name: "Run now" }).click();
    await page.getByText("Clean", { exact: true }).waitFor();
    await closeBrowser();
  });

  test("shows operator pages to operators only", async () => {
    const world = getWorld();
    const agent = await world.agent();
    const { page, closeBrowser } = await world.signedInBrowser(agent.wallet);
    await page.goto("operator/accounts");
    await page.getByText("This page is for operators").waitFor();
    expect(await page.getByRole("link", { name: "Audit log" }).count()).toBe(0);
    await closeBrowser();
  });

  test("adjusts a balance once when the response is lost and the request retried", async () => {
    const world = getWorld();
    const [operator, agent] = [await world.agent({ operator: true }), await world.agent()];
    const { page, context, closeBrowser } = await world.signedInBrowser(operator.wallet, {
      expected: [/ERR_FAILED/],
    });
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
    await closeBrowser();
  });
}
