import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "vitest";
import { parseDocument } from "../../../../src/config/document.ts";
import { Cluster } from "../../../sandbox/kubernetes/cluster.ts";
import { openDatabaseLink } from "../../../support/database-link.ts";
import { startModelServer } from "../../../support/model-server.ts";
import { remedyOf } from "../page.ts";
import type { Stage, Walk } from "../stage.ts";

const CHAT = {
  tool: "inference_chat",
  params: { model: "small", messages: [{ role: "user", content: "Hello" }], max_tokens: 8 },
};

/** A gateway with customers of a model, whose server is behind a line. */
async function sellModel(stage: Stage, accounts: number) {
  const agents = await Promise.all(
    Array.from({ length: accounts }, () => stage.scene.agent({ balance: 1_000_000n })),
  );
  const server = await startModelServer();
  const link = await openDatabaseLink(server.url);
  await stage.restart({ INFERENCE_BASE_URL: link.url });
  let turn = 0;
  const chat = async () => stage.gateway.buy(agents[turn++ % accounts] ?? stage.agent, {}, CHAT);
  await expect.poll(async () => (await chat()).status).toBe(200);
  const chats = setInterval(() => void chat().catch(() => {}), 100);
  const close = async () => {
    clearInterval(chats);
    server.close();
    await link.close();
  };
  return { server, link, close };
}

/** Makes a configuration with these tools the one in force. */
async function applyTools({ postgres }: Stage["scene"], ...tools: object[]): Promise<void> {
  const document = JSON.stringify({ tools });
  const { tiers } = parseDocument(document, "document").content;
  const version = { document, tiers, source: "apply", actor: "an operator" } as const;
  await postgres.configVersions.apply({ ...version, note: undefined, expected: undefined });
}

let sale: Awaited<ReturnType<typeof sellModel>>;
let cluster: Cluster;

export const TOOL_WALKS: readonly Walk[] = [
  {
    title: "a model server fails most calls",
    alerts: { ToolgateModelsFailing: /outcome="failed"/ },
    async cause(stage) {
      sale = await sellModel(stage, 1);
      let turn = 0;
      // Never three faults in a row, which would open the circuit breaker.
      sale.server.status = () => (turn++ % 3 === 0 ? 200 : 500);
    },
    remedy: () => void (sale.server.status = 200),
    after: () => sale.close(),
  },
  {
    title: "a model server does not answer",
    alerts: { ToolgateModelServerPaused: /toolgate_model_breaker_open\{upstream="\w+"\} 1/ },
    async cause(stage) {
      // The breaker opens for all after faults of three accounts.
      sale = await sellModel(stage, 3);
      sale.link.cut();
    },
    remedy: () => sale.link.mend(),
    after: () => sale.close(),
  },
  {
    title: "an operator applies a version that names a variable which is not set",
    alerts: { ToolgateConfigBehind: /TOOL_NEVER_SET is not set/ },
    async cause({ scene }) {
      const tool = { name: "note", price: { flat_microusd: 1 }, headers_env: { "X-Key": "TOOL_NEVER_SET" } };
      await applyTools(scene, { ...tool, mcp: { url: "https://tools.example/mcp", tool: "note" } });
    },
    remedy: ({ scene }) => applyTools(scene),
  },
  {
    title: "the server of a custom tool is down",
    alerts: {
      ToolgateToolUnavailable: /toolgate_tool_unavailable\{tool="note"\} 1[^]*could not be described/,
    },
    async cause({ scene }) {
      const mcp = { url: "http://127.0.0.1:1/mcp", tool: "note" };
      await applyTools(scene, { name: "note", price: { flat_microusd: 1 }, network: "any", mcp });
    },
    remedy: ({ scene }) => applyTools(scene),
  },
  {
    title: "the sandbox loses its rights",
    alerts: { ToolgateSandboxFailing: /"sandbox":"failed"[^]*apply deploy\/kubernetes/ },
    async cause(stage) {
      cluster = await Cluster.start();
      cluster.server.rules = [];
      const file = path.join(path.dirname(cluster.kubeconfig), "toolgate.json");
      writeFileSync(file, JSON.stringify({ sandbox: { kubernetes: cluster.section() } }));
      await stage.restart({ SANDBOX_ISOLATION: "auto", TOOLGATE_CONFIG: file });
    },
    async remedy(stage) {
      const [name = "", value = ""] = remedyOf("ToolgateSandboxFailing", "SANDBOX_ISOLATION=").split("=");
      await stage.restart({ [name]: value });
    },
    after: () => cluster.close(),
  },
];
