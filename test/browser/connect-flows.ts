import type { BrowserContext, Page } from "playwright-core";
import { expect, test } from "vitest";
import { query } from "../support/database-server.ts";
import { axeViolations } from "./appearance.ts";
import { POLL, type ConsoleWorld } from "./console-world.ts";
import { overflow } from "./layout.ts";
import { openMcpHost } from "./mcp-host.ts";
import { testWallet } from "./wallet.ts";

const CONSENT = {
  client: {
    id: "oac_1",
    name: "Helper",
    host: "app.example",
    verified: false,
    redirect_host: "localhost:1",
  },
  scopes: ["inference:write", "compute:read", "compute:run"],
  resource: "http://127.0.0.1/mcp",
  expires_at: "2126-03-01T00:00:00Z",
};

/** Answers for the authorization server. @returns the bodies of POSTs */
async function answerConsents(context: BrowserContext, answers: readonly object[]): Promise<unknown[]> {
  const posted: unknown[] = [];
  await context.route("**/oauth/consent/*", async (route) => {
    const request = route.request();
    if (request.method() === "GET") return route.fulfill({ json: CONSENT });
    posted.push(request.postDataJSON());
    return route.fulfill(answers[posted.length - 1] ?? { status: 500 });
  });
  return posted;
}

export function connectFlows(world: ConsoleWorld): void {
  test("asks after the sign-in, keeps the form when the session ends and shows refused fields in place", async () => {
    const agent = await world.agent();
    const { page, context } = await world.browserFor({
      wallets: [testWallet(agent.wallet)],
      expected: [/status of 40[01]/],
    });
    const message = "limits.month_usdc_microusd: must be at most the limit in all";
    const posted = await answerConsents(context, [
      { status: 401, json: { code: "UNAUTHORIZED", message: "not signed in", request_id: "req_0" } },
      { status: 400, json: { code: "INVALID_REQUEST", message, request_id: "req_1" } },
      { json: { location: `${world.consoleUrl}/settings` } },
    ]);
    await page.goto("connect/abc_1");
    await page.getByText("An app asks to use your account").waitFor();
    await page.getByRole("button", { name: "Test wallet" }).click();
    await page.getByRole("heading", { name: "Connect “Helper”?" }).waitFor();
    await page.getByText("Your account has no balance").waitFor();
    await page.getByLabel(/^Run code/).uncheck();
    await page.getByLabel("Daily limit").fill("0.01");
    await page.getByText("More limits").click();
    await page.getByLabel("Monthly limit").fill("5");
    await expectFitting(page);
    await page.getByText("More limits").click();
    const id = agent.accountId.slice("acct_".length);
    await query(world.database.url, `delete from console_session where account_id = '${id}'`);
    await page.getByRole("button", { name: "Allow" }).click();
    await page.getByText("Your session has ended").waitFor();
    await page.getByRole("button", { name: "Test wallet" }).click();
    expect(await page.getByLabel("Daily limit").inputValue()).toBe("0.01");
    await page.getByRole("button", { name: "Allow" }).click();
    await page.getByText("Must be at most the limit in all", { exact: true }).waitFor();
    await page.getByLabel("Monthly limit").fill("4");
    await page.getByRole("button", { name: "Allow" }).click();
    await page.waitForURL("**/settings");
    expect(posted).toHaveLength(3);
    expect(posted.at(-1)).toEqual({
      approve: true,
      name: "Helper",
      scopes: ["inference:write", "compute:read"],
      limits: {
        day_usdc_microusd: "10000",
        month_usdc_microusd: "4000000",
        expires_at: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    });
  });

  test("says what to do when a request has expired", async () => {
    const { wallet } = await world.agent();
    const { page } = await world.signedInBrowser(wallet, { expected: [/status of 404/] });
    await page.goto("approve/abc_1");
    await page.getByText("This request is over").waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.goto("connect/abc_1");
    await page.getByText("This request has expired").waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole("link", { name: "Go to the overview" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  });

  test("connects a host that knows only the address, asks beyond the budget, and revokes it", async () => {
    const agent = await world.agent({ balance: 1_000_000n });
    const mcp = `${world.gateway.baseUrl}/mcp`;
    const host = await openMcpHost(mcp, "Desktop");
    const { page } = await world.browserFor({
      wallets: [testWallet(agent.wallet)],
      expected: [/^request to elsewhere: http:\/\/127\.0\.0\.1:\d+\/callback/, /status of 401/],
    });
    await page.goto(host.authorizationUrl);
    await page.getByRole("button", { name: "Test wallet" }).click();
    await page.getByRole("heading", { name: "Connect “Desktop”?" }).waitFor();
    await page.getByText("any program can use this name").waitFor();
    await page.getByLabel("Daily limit").fill("0.01");
    await page.getByRole("button", { name: "Allow" }).click();
    await page.getByRole("heading", { name: "Back in the host" }).waitFor();
    const token = await host.finish();

    const estimate = (batch: number) => host.call("vram_estimate", { parameters_b: 7, batch_size: batch });
    for (let batch = 1; batch <= 10; batch++)
      expect(await estimate(batch)).toMatchObject({ structuredContent: { total: expect.anything() } });

    const beyond = estimate(11);
    await page.goto(await host.opened());
    await page.getByRole("heading", { name: "Allow a call of “Desktop”?" }).waitFor();
    await page.getByText("$0.01 of $0.01 spent").waitFor();
    await expectFitting(page);
    await page.getByRole("button", { name: "Allow once" }).click();
    await page.getByRole("heading", { name: "The call is allowed once" }).waitFor();
    expect(await beyond).toMatchObject({ structuredContent: { total: expect.anything() } });

    const next = estimate(12);
    await page.goto(await host.opened());
    await page.getByRole("button", { name: "Raise the limit" }).click();
    expect(await page.getByLabel("Daily limit").inputValue()).toBe("0.012");
    await page.getByLabel("Daily limit").fill("0.0119");
    await page.getByRole("button", { name: "Raise and allow" }).click();
    await page.getByText("Minimum $0.012.", { exact: true }).waitFor();
    await expectFitting(page);
    await page.getByLabel("Daily limit").fill("0.012");
    await page.getByRole("button", { name: "Raise and allow" }).click();
    await page.getByRole("heading", { name: "The limit is raised" }).waitFor();
    expect(await next).toMatchObject({ structuredContent: { total: expect.anything() } });

    const refused = estimate(13);
    await page.goto(await host.opened());
    await page.getByRole("button", { name: "Refuse" }).click();
    await page.getByRole("heading", { name: "The call is refused" }).waitFor();
    await expect(refused).rejects.toThrow("The account holder refused this call");

    await page.goto(`${world.consoleUrl}/keys`);
    expect(await page.getByRole("table", { name: "API keys" }).innerText()).not.toContain("Desktop");
    const app = page.getByRole("table", { name: "Connected apps" }).getByRole("row", { name: /Desktop/ });
    await app.getByText("Limit reached").waitFor();
    expect(await app.innerText()).toMatch(/127\.0\.0\.1:\d+, not verified/);
    expect(await app.getByRole("button", { name: "Rotate" }).count()).toBe(0);
    await app.getByRole("button", { name: "Edit Desktop" }).click();
    await page.getByLabel("Daily limit").fill("0.022");
    await page.getByRole("button", { name: "Save key" }).click();
    await app.getByText("$0.01 left today").waitFor();
    await estimate(12);
    await expect.poll(() => app.innerText(), POLL).not.toContain("never");

    expect(await statusOf(mcp, token)).toBe(200);
    await app.getByRole("button", { name: "Revoke Desktop" }).click();
    await page.getByText("the app must ask you again").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
    await page.getByRole("button", { name: "Show 1 inactive app" }).waitFor();
    await expect.poll(() => statusOf(mcp, token), POLL).toBe(401);
    expect(await world.postgres.ledger.balance(agent.accountId)).toBe(987_000n);
  });

  test("returns a refusal to the host", async () => {
    const agent = await world.agent();
    const host = await openMcpHost(`${world.gateway.baseUrl}/mcp`, "Desktop");
    const { page } = await world.signedInBrowser(agent.wallet, {
      expected: [/^request to elsewhere: http:\/\/127\.0\.0\.1:\d+\/callback/],
    });
    await page.goto(host.authorizationUrl);
    await page.getByRole("button", { name: "Deny" }).click();
    await page.getByRole("heading", { name: "Back in the host" }).waitFor();
    expect((await host.answer).get("error")).toBe("access_denied");
    expect(await world.postgres.apiKeys.list(agent.accountId)).toHaveLength(1);
  });
}

/** Whether a page fits narrow and wide screens, and has no barrier in any theme. */
async function expectFitting(page: Page): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await axeViolations(page)).toEqual([]);
  }
  for (const width of [320, 390, 1280]) {
    await page.setViewportSize({ width, height: 844 });
    expect(await overflow(page), `${width} px`).toBe(0);
  }
}

async function statusOf(mcp: string, token: string): Promise<number> {
  const headers = {
    Authorization: `Bearer ${token}`,
    "Content-Type": "application/json",
    Accept: "application/json, text/event-stream",
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  return (await fetch(mcp, { method: "POST", headers, body })).status;
}
