import { expect, it } from "vitest";
import { status } from "@grpc/grpc-js";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { expectError } from "../contract/error-body.ts";
import { openDatabaseLink } from "../support/database-link.ts";
import { closing } from "../support/postgres.ts";
import { request, type Agent } from "../support/world.ts";
import { callGrpc, grpcClient } from "../transport/grpc-client.ts";
import { callAt, expectAccount, openGround, PRICE } from "./calls.ts";
import { HAPROXY, openPorts, startProxy } from "./proxy.ts";

const { ground, serveHere } = await openGround();
const link = closing(await openDatabaseLink(ground.database.servingUrl));
const UP = ["UP", "UP"];
const DOWN = ["DOWN", "DOWN"];
const FREE = { tool: "echo", params: { message: "hello" } };

async function echoOverGrpc(address: string, { apiKey }: Agent) {
  const client = grpcClient(address);
  const metadata = { authorization: `Bearer ${apiKey}` };
  return callGrpc(client, ToolService.method.callTool, FREE, { metadata }).finally(() => client.close());
}

it("answers JSON with Retry-After, and free calls and console, while the database is away", async ({
  skip,
}) => {
  if (HAPROXY === undefined) return skip("HAProxy is not installed");
  const agent = await ground.agent({ balance: 100n * PRICE });
  const ports = [await openPorts(), await openPorts()] as const;
  const settings = { ...ground.settings, DATABASE_URL: link.url, TRUSTED_PROXY_HOPS: "1" };
  const [a, b] = [
    await serveHere({ ...settings, ...ports[0] }),
    await serveHere({ ...settings, ...ports[1] }),
  ];
  const proxy = await startProxy(HAPROXY, ports);
  const readiness = (query: string) => request(a, undefined, `/readyz${query}`, { method: "GET" });
  try {
    await expect.poll(() => proxy.statuses("http_gateways")).toEqual(UP);
    // Both know the key.
    for (const instance of [a, b]) expect((await callAt(instance, agent)).status).toBe(200);

    link.cut();
    const calls = Array.from({ length: 10 }, () => callAt(proxy, agent));
    await expect.poll(() => proxy.statuses("grpc_gateways")).toEqual(DOWN);
    const free = await callAt(proxy, agent, FREE);
    expect(free.body, JSON.stringify([free.status, free.body])).toMatchObject({ result: { echo: "hello" } });
    expect((await echoOverGrpc(proxy.grpcAddress, agent)).message.result).toBeDefined();
    expect((await fetch(`${proxy.baseUrl}/console/`)).headers.get("content-type")).toContain("text/html");
    expect((await request(proxy, undefined, "/mcp/capabilities", { method: "GET" })).status).toBe(200);
    calls.push(...Array.from({ length: 10 }, () => callAt(proxy, agent)));
    for (const answer of await Promise.all(calls)) {
      expectError(answer, 503, "UNAVAILABLE", /database is out of reach/);
      expect(answer.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
    }
    expect((await readiness("")).status).toBe(503);
    expect((await readiness("?verbose&exclude=database&exclude=network")).body).toEqual({
      status: "ready",
      checks: expect.objectContaining({ database: "excluded", draining: false }),
      warning: "no check is named network",
    });

    link.mend();
    await expect.poll(() => proxy.statuses("http_gateways")).toEqual(UP);
    expect((await callAt(proxy, agent)).status).toBe(200);
    await expectAccount(proxy, agent, { balance: 97n * PRICE, receipts: 3 });
  } finally {
    link.mend();
    await proxy.stop();
  }
});

it("lets HAProxy answer with the gateway's error body when there is no instance", async ({ skip }) => {
  if (HAPROXY === undefined) return skip("HAProxy is not installed");
  const agent = await ground.agent();
  const proxy = await startProxy(HAPROXY, [await openPorts(), await openPorts()]);
  try {
    await expect.poll(() => proxy.statuses("http_without_database")).toEqual(DOWN);
    const refused = await callAt(proxy, agent);
    expectError(refused, 503, "UNAVAILABLE", /no instance/);
    expect(refused.body.retry_after_seconds).toBe(2);
    await expect(echoOverGrpc(proxy.grpcAddress, agent)).rejects.toMatchObject({ code: status.UNAVAILABLE });
  } finally {
    await proxy.stop();
  }
});
