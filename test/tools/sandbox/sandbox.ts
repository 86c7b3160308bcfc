import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, expect, vi } from "vitest";
import type { JsonObject } from "../../../src/domain/core/json.ts";
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

type Door = { readonly baseUrl: string; readonly metricsAddress: string | undefined };

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

/** Status of a tool. */
export async function statusOf(door: Door, tool: string): Promise<string> {
  const { body } = await request(door, undefined, "/mcp/capabilities", { method: "GET" });
  return body.tools.find(({ name }: { name: string }) => name === tool)?.status;
}

/** Waits until the self-test has passed. */
export async function untilProven({ metricsAddress }: Door): Promise<void> {
  const proven = async () => expect(await figureOf(metricsAddress, "toolgate_sandbox_ready")).toBe(1);
  await vi.waitFor(proven, { timeout: 110_000, interval: 100 });
}

export interface Extra {
  key?: string;
  headers?: Record<string, string>;
}

export function callTool(
  door: Door,
  agent: Agent,
  tool: string,
  params: JsonObject,
  { key, headers }: Extra = {},
): Promise<Answer> {
  const body = JSON.stringify({ tool, params, ...(key !== undefined && { idempotency_key: key }) });
  return request(door, agent, "/v1/mcp/tools/call", { method: "POST", body }, headers);
}

/** Starts an execution that sleeps; resolves once it is active. */
export async function beginWaiting(door: Door, agent: Agent, params: JsonObject = {}, key?: string) {
  const known = new Set((await activeRuns(door, agent)).map(({ run_id }) => run_id));
  const answer = callTool(
    door,
    agent,
    "sandbox_execute",
    { ...WAITS, ...params },
    key === undefined ? {} : { key },
  );
  answer.catch(() => {});
  const newOnes = async () => (await activeRuns(door, agent)).filter(({ run_id }) => !known.has(run_id));
  await expect.poll(newOnes).toHaveLength(1);
  const [run] = await newOnes();
  if (!run) throw new Error("there is a run");
  return { answer, runId: run.run_id };
}

/** Starts an execution that sleeps; resolves once its code runs, since earlier cancels end differently. */
export async function beginRunning(door: Door, agent: Agent, params: JsonObject = {}) {
  const before = await runningAt(door);
  const begun = await beginWaiting(door, agent, params);
  await untilRunning(door, before + 1);
  return begun;
}

/** Waits until this many executions run. */
export async function untilRunning(door: Door, count: number): Promise<void> {
  await expect.poll(() => runningAt(door)).toBe(count);
}

async function runningAt({ metricsAddress }: Door): Promise<number> {
  return (await figureOf(metricsAddress, "toolgate_sandbox_running")) ?? 0;
}

/** Active executions in GET /runs. */
export async function activeRuns(door: Door, agent: Agent): Promise<{ run_id: string; tool: string }[]> {
  return (await request(door, agent, "/runs?status=active&limit=100", { method: "GET" })).body.items;
}

/** Balance, micro-USD, and number of charges. */
export async function accountOf(door: Door, agent: Agent): Promise<{ balance: string; receipts: number }> {
  const status = await callTool(door, agent, "get_status", {});
  const receipts = await request(door, agent, "/receipts?limit=100", { method: "GET" });
  return { balance: status.body.result.balance_usdc, receipts: receipts.body.items.length };
}
