import { createServer } from "node:http";
import { expect, test } from "vitest";
import { SessionService } from "#gen/toolgate/console/v1/session_service_pb.ts";
import type { ConsoleWorld } from "./console-world.ts";
import { listen } from "../support/servers.ts";

export function securityFlows(world: ConsoleWorld): void {
  test("rejects a stolen cookie at the agent API, from other origins and after sign-out", async () => {
    const agent = await world.agent({ balance: 1_000_000n });
    const { page, context } = await world.signedInBrowser(agent.wallet, { expected: [/40[13]/] });
    await page.goto("");
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
    const stolen = { Cookie: `${cookie?.name}=${cookie?.value}` };
    const status = async (path: string, headers: Record<string, string>, body = "{}") => {
      const answer = await fetch(`${new URL(world.consoleUrl).origin}${path}`, {
        method: "POST",
        headers: { "Content-Type": "application/json", ...stolen, ...headers },
        body,
      });
      return answer.status;
    };
    expect(await status("/v1/mcp/tools/call", {}, '{"tool":"get_status","params":{}}')).toBe(401);
    const list = `/console/rpc/${SessionService.typeName}/ListSessions`;
    expect(await status(list, { Origin: "https://elsewhere.example" })).toBe(403);
    const own = { Origin: new URL(world.consoleUrl).origin };
    expect(await status(list, own)).toBe(200);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in with your wallet" }).waitFor();
    expect(await status(list, own)).toBe(401);
  });

  test("prevents page scripts from creating Trusted Types policies and writing markup", async () => {
    const agent = await world.agent();
    const { page } = await world.signedInBrowser(agent.wallet, { expected: [/trusted/i] });
    await page.goto("");
    const results = await page.evaluate(() => {
      const attempt = (work: () => unknown) => {
        try {
          work();
          return "done";
        } catch (error) {
          return error instanceof Error ? error.name : "thrown";
        }
      };
      const page: { body: { innerHTML: string } } = Reflect.get(globalThis, "document");
      const types: { createPolicy(name: string, rules: object): unknown } = Reflect.get(
        globalThis,
        "trustedTypes",
      );
      return [
        ...["default", "own"].map((name) => attempt(() => types.createPolicy(name, { createHTML: String }))),
        attempt(() => (page.body.innerHTML = "<img src=x onerror=alert(1)>")),
      ];
    });
    expect(results).toEqual(["TypeError", "TypeError", "TypeError"]);
  });

  test("prevents other origins from acting through the browser", async () => {
    const agent = await world.agent();
    const expected = [
      /^request to elsewhere: http:\/\/127\.0\.0\.1:/,
      /CORS policy/,
      /^error: Failed to load/,
    ];
    const { page } = await world.signedInBrowser(agent.wallet, { expected });
    const target = `${world.consoleUrl}/rpc/toolgate.console.v1.KeyService/CreateKey`;
    const elsewhere = createServer((_request, response) => {
      response.setHeader("content-type", "text/html");
      response.end(
        `<form method="post" enctype="text/plain" action="${target}"><input ` +
          `name='{"name":"forged","x":"' value='"}'><button>go</button></form>`,
      );
    });
    const port = await listen(elsewhere);
    try {
      // Same site, so the browser sends the cookie: only the gateway's own check remains.
      await page.goto(`http://127.0.0.1:${port}/`);
      const results = await page.evaluate(async (url) => {
        const attempts = ["text/plain", "application/json"].map((type) =>
          fetch(url, {
            method: "POST",
            mode: type === "text/plain" ? "no-cors" : "cors",
            credentials: "include",
            headers: { "Content-Type": type },
            body: '{"name":"forged"}',
          }).then(
            ({ type: kind, ok }) => `${kind} ${ok}`,
            () => "refused",
          ),
        );
        return Promise.all(attempts);
      }, target);
      expect(results).toEqual(["opaque false", "refused"]);
      const answered = page.waitForResponse(target);
      await page.getByRole("button", { name: "go" }).click();
      expect((await answered).status()).toBeGreaterThanOrEqual(400);
    } finally {
      elsewhere.close();
    }
    const keys = await world.postgres.apiKeys.list(agent.accountId);
    expect(keys.map(({ name }) => name)).toEqual(["test"]);
  });
}
