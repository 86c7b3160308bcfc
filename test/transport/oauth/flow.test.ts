import { describe, expect, it } from "vitest";
import { TOKEN_PREFIX } from "../../../src/domain/accounts/api-key.ts";
import { KeyService } from "#gen/toolgate/console/v1/key_service_pb.ts";
import { readConfig, requireServeConfig } from "../../../src/config/config.ts";
import { hasOAuth } from "../../../src/gateway/oauth.ts";
import { signIn } from "../../support/console.ts";
import { useWorld } from "../../support/use-world.ts";
import { authorizeUrl, Browser, connect, postJson, redeem, refresh, register } from "./browser.ts";

const world = useWorld({ TRUSTED_PROXY_HOPS: "1" });

const PING = { jsonrpc: "2.0", id: 1, method: "tools/list" };

function mcp(token?: string, body: object = PING): Promise<Response> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return postJson(`${world.gateway.baseUrl}/mcp`, body, {
    accept: "application/json, text/event-stream",
    ...headers,
  });
}

describe("a host that knows only the address of /mcp", () => {
  it("learns from the 401 where to sign in", async () => {
    const { baseUrl, consoleUrl } = world.gateway;
    const refused = await mcp();
    expect(refused.status).toBe(401);
    const challenge = refused.headers.get("www-authenticate") ?? "";
    expect(challenge).toBe(
      `Bearer realm="toolgate", resource_metadata="${baseUrl}/.well-known/oauth-protected-resource/mcp", ` +
        'scope="inference:write compute:read compute:run billing:read"',
    );
    const [, address = ""] = /resource_metadata="([^"]+)"/.exec(challenge) ?? [];
    const resource = await (await fetch(address)).json();
    const issuer = new URL(consoleUrl).origin;
    expect(resource).toMatchObject({ resource: `${baseUrl}/mcp`, authorization_servers: [issuer] });
    const server = await fetch(`${issuer}/.well-known/oauth-authorization-server`);
    expect(server.headers.get("access-control-allow-origin")).toBe("*");
    expect(await server.json()).toMatchObject({ issuer, code_challenge_methods_supported: ["S256"] });
  });

  it("gets tokens that work on every route after a person's consent", async () => {
    const { gateway } = world;
    const host = await register(gateway);
    const browser = new Browser();
    const id = await browser.open(authorizeUrl(gateway, host));
    const shown = await browser.consent(gateway, id);
    expect(await shown.json()).toEqual({
      client: {
        id: host.clientId,
        name: "Test host",
        host: "127.0.0.1:33418",
        verified: false,
        redirect_host: "127.0.0.1:33418",
      },
      scopes: ["inference:write", "compute:read", "compute:run", "billing:read"],
      resource: `${gateway.baseUrl}/mcp`,
      expires_at: expect.stringMatching(/^20.*Z$/),
    });
    const decided = await browser.decide(gateway, id, {
      approve: true,
      limits: { day_usdc_microusd: "10000", call_usdc_microusd: 5000 },
    });
    const callback = await browser.back(decided);
    expect(callback.searchParams.get("state")).toBe("a-state");
    expect(callback.searchParams.get("iss")).toBe(new URL(gateway.consoleUrl).origin);
    const tokens = await redeem(gateway, host, callback);
    expect(tokens).toMatchObject({ status: 200, token_type: "Bearer", expires_in: 3600 });
    const token = tokens.access_token ?? "";
    expect(token.startsWith(TOKEN_PREFIX)).toBe(true);
    expect((await mcp(token)).status).toBe(200);
    const authorization = `Bearer ${token}`;
    for (const path of ["/receipts", "/runs", "/openai/v1/models"])
      expect((await fetch(gateway.baseUrl + path, { headers: { authorization } })).status).toBe(200);
    const again = await refresh(gateway, host, tokens.refresh_token ?? "");
    expect(again.status).toBe(200);
    expect((await mcp(again.access_token)).status).toBe(200);
  });

  it("is listed in the console as the client of its key", async () => {
    const { browser, host } = await connect(world.gateway, {
      decision: { name: "My host", scopes: ["compute:read"], limits: { total_usdc_microusd: 7 } },
    });
    const person = await signIn(world, browser.wallet);
    const { keys } = await person.client(KeyService).listKeys({});
    expect(keys.map(({ key }) => key)).toMatchObject([
      {
        name: "My host",
        prefix: TOKEN_PREFIX,
        scopes: ["compute:read"],
        limits: { totalUsdcMicrousd: 7n },
        client: { clientId: host.clientId, name: "Test host", host: "127.0.0.1:33418", verified: false },
      },
    ]);
  });
});

it("finds nothing to sign in at where OAuth is off", async () => {
  const { baseUrl } = await world.startAnother({ OAUTH: "off" });
  for (const path of ["/.well-known/oauth-protected-resource/mcp", "/oauth/authorize"])
    expect((await fetch(baseUrl + path)).status).toBe(404);
  const refused = await postJson(`${baseUrl}/mcp`, PING);
  expect(refused.headers.get("www-authenticate")).toBe('Bearer realm="toolgate"');
});

it.each([
  [{}, true],
  [{ PUBLIC_URL: "https://gateway.example" }, true],
  [{ PUBLIC_URL: "http://gateway.example" }, false],
  [{ PUBLIC_URL: "http://gateway.example", OAUTH: "on" }, false],
  [{ PUBLIC_URL: "https://gateway.example", CONSOLE_URL: "http://console.example" }, false],
  [{ PUBLIC_URL: "https://gateway.example/tools", OAUTH: "on" }, false],
  [{ HOST: "192.0.2.1" }, false],
  [{ CELL: "1" }, false],
  [{ CELL: "1", OAUTH: "on" }, true],
])("with %j OAuth is on: %s", (settings, on) => {
  expect(hasOAuth(requireServeConfig(readConfig({ ...world.settings, ...settings })))).toBe(on);
});
