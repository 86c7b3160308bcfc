import { createServer } from "@modelcontextprotocol/server-everything/dist/server/index.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../../../support/until.ts";
import { useWorld } from "../../../support/use-world.ts";
import { startOfficialServer, type OfficialServer } from "./servers.ts";

/** The reference server of the official TypeScript SDK 1.x, whose schemas declare draft 7. */

const cleanups: (() => void)[] = [];
let everything: OfficialServer;
let listed: { name: string; inputSchema: Record<string, unknown> }[];

function make() {
  const { server, cleanup } = createServer();
  cleanups.push(() => cleanup(server.server.transport?.sessionId));
  return server;
}

async function toolsOf(url: string): Promise<typeof listed> {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const { tools } = await client.listTools();
  await client.close();
  return tools;
}

/** Parameters of the tools that need some. */
const PARAMS: Readonly<Record<string, object>> = {
  echo: { message: "hello" },
  "get-annotated-message": { messageType: "success", includeImage: true },
  "get-structured-content": { location: "Chicago" },
  "get-sum": { a: 20, b: 1 },
  "gzip-file-as-resource": { data: "data:text/plain;base64,aGVsbG8=", outputType: "resource" },
  "simulate-research-query": { topic: "drafts" },
  "trigger-long-running-operation": { duration: 0.1, steps: 1 },
};

const world = useWorld(async () => {
  everything = await startOfficialServer("stateful", make);
  listed = await toolsOf(everything.url);
  const tools = listed.map(({ name }) => ({
    name: soldAs(name),
    price: { flat_microusd: 50 },
    allow_hosts: ["127.0.0.1"],
    mcp: { url: everything.url, tool: name },
  }));
  const file = path.join(await mkdtemp(path.join(tmpdir(), "everything-")), "toolgate.json");
  await writeFile(file, JSON.stringify({ tools }));
  return { TOOLGATE_CONFIG: file };
});
beforeAll(async () => {
  await until(async () => (await sold()).every(({ status }) => status === "active"));
});
afterAll(() => {
  for (const cleanup of cleanups) cleanup();
  everything.close();
});

function soldAs(name: string): string {
  return `mcp_${name.replaceAll("-", "_")}`;
}

async function sold(): Promise<{ name: string; status: string; input_schema: object }[]> {
  const { tools } = (await world.get(undefined, "/mcp/capabilities")).body;
  return tools.filter(({ name }: { name: string }) => name.startsWith("mcp_"));
}

describe("the reference server of MCP", () => {
  it("is sold whole, with schemas of draft 2020-12", async () => {
    const tools = await sold();
    expect(tools.map(({ name }) => name)).toEqual(listed.map(({ name }) => soldAs(name)));
    expect(tools.length).toBeGreaterThan(12);
    expect(listed.map(({ inputSchema }) => inputSchema["$schema"])).toContain(
      "http://json-schema.org/draft-07/schema#",
    );
    for (const { input_schema } of tools) expect(input_schema).not.toHaveProperty("$schema");
  });

  it("answers every tool to a buyer", async () => {
    const agent = await world.agent({ balance: BigInt(listed.length) * 50n });
    for (const { name } of listed) {
      const { status, body } = await world.call(agent, soldAs(name), PARAMS[name] ?? {});
      expect([name, status, body.receipt?.debited_usdc_microusd]).toEqual([name, 200, 50]);
    }
  });
});
