import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "vitest";
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
