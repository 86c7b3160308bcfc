import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { json, modelServer, type ModelServer } from "../../inference/model-server.ts";
import { useWorld } from "../../support/use-world.ts";
import { exitOf } from "../../support/child.ts";
import type { Agent } from "../../support/world.ts";
import { ROOT } from "../../tooling/command.ts";

/** OpenAI's Codex itself, with its own configuration, on models of a scripted server. */

const CODEX = process.env["CODEX"] ?? path.join(ROOT, "node_modules/.bin/codex");
const reason = "skipped: set CODEX to the program of @openai/codex";

/** Usage of each answer; at 1 and 10 USD per million tokens it costs 1,500 micro-USD. */
const USAGE = { prompt_tokens: 1_000, completion_tokens: 50, total_tokens: 1_050 };
const COST = 1_500;
const STEPS = ["cat note.txt", "sed -i s/teh/the/ note.txt", "wc -w note.txt"];

/** The lines of docs/guides/coding-agents.md. */
const CONFIG =
  /```toml\n([^`]*)```/
    .exec(readFileSync(path.join(ROOT, "docs/guides/coding-agents.md"), "utf8"))?.[1]
    ?.split("\n") ?? [];

function answerOf(model: string, step: number): object {
  const cmd = model === "endless" ? "true" : STEPS[step];
  const call = { name: "exec_command", arguments: JSON.stringify({ cmd }) };
  const message =
    cmd === undefined
      ? { role: "assistant", content: "It has 3 words." }
      : {
          role: "assistant",
          content: null,
          tool_calls: [{ id: `c${step}`, type: "function", function: call }],
        };
  return { id: "c", choices: [{ index: 0, message, finish_reason: "stop" }], usage: USAGE };
}

describe.skipIf(!existsSync(CODEX))(`Codex (${existsSync(CODEX) ? "installed" : reason})`, () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "toolgate-codex-"));
  const note = path.join(folder, "note.txt");
  let server: ModelServer;
  const world = useWorld(async () => {
    server = await modelServer((response) => {
      const { model, messages } = JSON.parse(server.received.at(-1)?.body ?? "");
      const results = messages.filter(({ role }: { role: string }) => role === "tool");
      json(response, 200, answerOf(model, results.length));
    });
    const terms = { input_usd_per_million: 1, output_usd_per_million: 10, bytes_per_token: 4 };
    const models = ["steps", "endless"].map((id) => ({
      id,
      ...terms,
      context_length: 200_000,
      max_output_tokens: 100,
    }));
    const file = path.join(folder, "config.json");
    writeFileSync(file, JSON.stringify({ inference: { upstreams: [{ name: "agents", models }] } }));
    return { TOOLGATE_CONFIG: file, INFERENCE_BASE_URL: server.baseUrl };
  });
  beforeAll(() => {
    writeFileSync(note, "Fix teh typo.\n");
    writeFileSync(
      path.join(folder, "config.toml"),
      [
        ...CONFIG.map((line) => line.replace("http://127.0.0.1:8080", world.gateway.baseUrl)),
        // It repeats refused calls, each after a longer pause.
        "stream_max_retries = 0",
      ].join("\n"),
    );
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  async function run(agent: Agent, model: string): Promise<{ code: number | null; said: string }> {
    const options = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-m", model];
    const child = spawn(CODEX, ["exec", ...options, "Fix the typo in note.txt and count its words."], {
      cwd: folder,
      env: { PATH: process.env["PATH"], HOME: folder, CODEX_HOME: folder, TOOLGATE_API_KEY: agent.apiKey },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const said = await Promise.all([text(child.stdout), text(child.stderr)]);
    const [code] = await exitOf(child);
    return { code, said: said.join("") };
  }

  it("reads a file, edits it and runs a command, each turn charged as counted", async () => {
    const agent = await world.agent({ balance: 1_000_000n });
    const { code, said } = await run(agent, "steps");
    expect({ code, said }).toMatchObject({ code: 0, said: expect.stringContaining("It has 3 words.") });
    expect(readFileSync(note, "utf8")).toBe("Fix the typo.\n");
    const { body } = await world.get(agent, "/receipts");
    expect(body.items.map((receipt: Record<string, unknown>) => receipt["debited_usdc_microusd"])).toEqual(
      Array.from({ length: STEPS.length + 1 }, () => COST),
    );
  });

  it("ends an endless task when the balance is used up, and not a micro-USD later", async () => {
    const balance = 30_000;
    const agent = await world.agent({ balance: BigInt(balance) });
    const { code, said } = await run(agent, "endless");
    expect({ code, said }).toMatchObject({ code: 1, said: expect.stringContaining("402 Payment Required") });
    const { body } = await world.get(agent, "/receipts");
    const spent = COST * body.items.length;
    expect(body.items.length).toBeGreaterThan(5);
    expect(spent).toBeLessThanOrEqual(balance);
    const status = await world.call(agent, "get_status", {});
    expect(Number(status.body.result.balance_usdc)).toBe((balance - spent) / 1_000_000);
  });
});
