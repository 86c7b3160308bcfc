import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, expect } from "vitest";
import type { JsonObject } from "../../../src/domain/core/json.ts";
import { until } from "../../support/until.ts";
import { request, type Agent, type Answer } from "../../support/world.ts";
import { figureOf } from "../../crediting/fixture.ts";

/** Calls of the sandbox tools on a gateway with the real engine. */

/** Price of an execution of up to ten seconds, micro-USD. */
export const PRICE = 1_000n;

/** Sleeps longer than any test. */
export const WAITS = {
  language: "javascript",
  code: "await new Promise((go) => setTimeout(go, 25_000));",
} as const;

type Target = { readonly baseUrl: string; readonly metricsAddress: string | undefined };

const folders: string[] = [];
afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true });
});

/** Settings of a gateway with this `sandbox` section. */
export async function sandboxSettings(sandbox: object): Promise<Record<string, string>> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-settings-"));
  folders.push(folder);
  const file = path.join(folder, "toolgate.json");
  writeFileSync(file, JSON.stringify({ sandbox }));
  return { SANDBOX_ISOLATION: "auto", TOOLGATE_CONFIG: file, METRICS_PORT: "0" };
}

export async function statusOf(target: Target, tool: string): Promise<string> {
  const { body } = await request(target, undefined, "/mcp/capabilities", { method: "GET" });
  return body.tools.find(({ name }: { name: string }) => name === tool)?.status;
}

export async function untilProven({ metricsAddress }: Target): Promise<void> {
  await until(async () => (await figureOf(metricsAddress, "toolgate_sandbox_ready")) === 1);
}

export interface Extra {
  key?: string;
  headers?: Record<string, string>;
}

export function callTool(
  target: Target,
  agent: Agent,
  tool: string,
  params: JsonObject,
  { key, headers }: Extra = {},
): Promise<Answer> {
  const body = JSON.stringify({ tool, params, ...(key !== undefined && { idempotency_key: key }) });
  return request(target, agent, "/v1/mcp/tools/call", { method: "POST", body }, headers);
}

/** Starts an execution that sleeps; resolves once it is active. */
export async function beginWaiting(target: Target, agent: Agent, params: JsonObject = {}, key?: string) {
  const known = new Set((await activeRuns(target, agent)).map(({ run_id }) => run_id));
  const answer = callTool(
    target,
    agent,
    "sandbox_execute",
    { ...WAITS, ...params },
    key === undefined ? {} : { key },
  );
  answer.catch(() => {});
  const newOnes = async () => (await activeRuns(target, agent)).filter(({ run_id }) => !known.has(run_id));
  await expect.poll(newOnes).toHaveLength(1);
  const [run] = await newOnes();
  if (!run) throw new Error("there is a run");
  return { answer, runId: run.run_id };
}

/** Starts an execution that sleeps; resolves once its code runs, since earlier cancels end differently. */
export async function beginRunning(target: Target, agent: Agent, params: JsonObject = {}) {
  const before = await runningAt(target);
  const started = await beginWaiting(target, agent, params);
  await untilRunning(target, before + 1);
  return started;
}

export async function untilRunning(target: Target, count: number): Promise<void> {
  await expect.poll(() => runningAt(target)).toBe(count);
}

async function runningAt({ metricsAddress }: Target): Promise<number> {
  return (await figureOf(metricsAddress, "toolgate_sandbox_running")) ?? 0;
}

export async function activeRuns(target: Target, agent: Agent): Promise<{ run_id: string; tool: string }[]> {
  return (await request(target, agent, "/runs?status=active&limit=100", { method: "GET" })).body.items;
}

/** Balance, micro-USD, and number of charges. */
export async function accountOf(
  target: Target,
  agent: Agent,
): Promise<{ balance: string; receipts: number }> {
  const status = await callTool(target, agent, "get_status", {});
  const receipts = await request(target, agent, "/receipts?limit=100", { method: "GET" });
  return { balance: status.body.result.balance_usdc, receipts: receipts.body.items.length };
}
