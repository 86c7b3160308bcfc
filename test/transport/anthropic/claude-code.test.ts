import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { afterAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { exitOf } from "../../support/child.ts";
import type { Agent } from "../../support/world.ts";
import { ROOT } from "../../tooling/command.ts";
import { useChatWorld } from "../openai/chat-world.ts";
import { AGENT_USAGE } from "./agent-upstream.ts";

/** Claude Code itself, one task without a terminal, in front of servers of both kinds. */

const PROGRAM = process.env["CLAUDE_CODE"] ?? path.join(ROOT, "node_modules/.bin/claude");
const chat = useChatWorld();
const folder = mkdtempSync(path.join(os.tmpdir(), "toolgate-agent-"));
const file = path.join(folder, "a.txt");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const reported = z.object({ is_error: z.boolean(), result: z.string(), num_turns: z.number() });

/** Runs a task as the owner of a key, with no settings but the address and the key. */
async function run(model: string, { apiKey }: Agent) {
  writeFileSync(file, "one\n");
  const args = ["-p", `work in ${file}`, "--model", model, "--output-format", "json"];
  const child = spawn(PROGRAM, [...args, "--dangerously-skip-permissions"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "ignore"],
    env: {
      PATH: process.env["PATH"],
      HOME: folder,
      IS_SANDBOX: "1",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      ANTHROPIC_BASE_URL: `${chat.world.gateway.baseUrl}/anthropic`,
      ANTHROPIC_API_KEY: apiKey,
    },
  });
  const output = await text(child.stdout);
  await exitOf(child);
  return reported.parse(JSON.parse(output));
}

const spent = async (agent: Agent): Promise<number[]> => {
  const { body } = await chat.world.get(agent, "/receipts?limit=100");
  return body.items.map((receipt: Record<string, unknown>) => Number(receipt["debited_usdc_microusd"]));
};

/** At 0.2 and 0.6. */
const STEP = AGENT_USAGE.prompt * 0.2 + AGENT_USAGE.completion * 0.6;
const reason = "skipped: set CLAUDE_CODE to the program of @anthropic-ai/claude-code";

describe.skipIf(!existsSync(PROGRAM))(`Claude Code (${existsSync(PROGRAM) ? "installed" : reason})`, () => {
  it.each(["agent", "claude-agent"])("reads and edits a file and runs a command: %s", async (model) => {
    const { is_error, result } = await run(model, chat.agent);
    expect([is_error, result, readFileSync(file, "utf8")]).toEqual([false, "It says two.", "two\n"]);
    expect(await spent(chat.agent)).toEqual([STEP, STEP, STEP, STEP]);
  });

  it.each(["agent-endless", "claude-agent-endless"])("stops where two cents end: %s", async (model) => {
    const balance = 20_000;
    const agent = await chat.world.agent({ balance: BigInt(balance) });
    const { is_error, result } = await run(model, agent);
    expect([is_error, result]).toEqual([true, expect.stringContaining("402")]);
    const charges = await spent(agent);
    const sum = charges.reduce((total, charge) => total + charge, 0);
    const status = await chat.world.call(agent, "get_status", {});
    expect([charges.every((charge) => charge === STEP), charges.length > 2]).toEqual([true, true]);
    expect([sum <= balance, Number(status.body.result.balance_usdc) * 1e6]).toEqual([true, balance - sum]);
  });
});
