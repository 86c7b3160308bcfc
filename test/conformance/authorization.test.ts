import { expect, it } from "vitest";
import { restartPort } from "../support/ports.ts";
import { useWorld } from "../support/use-world.ts";
import { Browser, register } from "../transport/oauth/browser.ts";
import { judgeAuthorization } from "./suites.ts";

const world = useWorld();

it("the official suite finds nothing against the authorization server", async () => {
  const { baseUrl, consoleUrl } = world.gateway;
  const { clientId } = await register(world.gateway);
  const { code, output, scenarios } = await judgeAuthorization({
    issuer: new URL(consoleUrl).origin,
    clientId,
    resource: `${baseUrl}/mcp`,
    port: await restartPort(),
    approve: async (address) => fetch(await new Browser().approve(world.gateway, address)),
  });
  const found = scenarios.flatMap(({ checks }) => checks.map(({ id, status }) => [id, status]));
  expect(found, output).toEqual([
    ["authorization-code-grant", "SUCCESS"],
    ["authorization-server-metadata", "SUCCESS"],
    ["authorization-server-metadata-cimd", "SUCCESS"],
  ]);
  expect(code).toBe(0);
});
