import type { BrowserContext } from "playwright-core";
import { expect, test } from "vitest";
import { query } from "../support/database-server.ts";
import { axeViolations } from "./appearance.ts";
import type { ConsoleWorld } from "./console-world.ts";
import { overflow } from "./layout.ts";
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
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await axeViolations(page)).toEqual([]);
    }
    for (const width of [320, 390, 1280]) {
      await page.setViewportSize({ width, height: 844 });
      expect(await overflow(page), `${width} px`).toBe(0);
    }
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
    const { page, context } = await world.signedInBrowser(wallet, { expected: [/status of 404/] });
    const gone = { status: 404, json: { code: "NOT_FOUND", message: "there is no such request" } };
    await context.route("**/oauth/consent/*", (route) => route.fulfill(gone));
    await page.goto("connect/abc_1");
    await page.getByText("This request has expired").waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole("link", { name: "Go to the overview" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  });
}
