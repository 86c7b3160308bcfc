import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { ROOT } from "../tooling/command.ts";

/** README and what it leads to, pasted into a shell line by line, as a newcomer would, beside an `npm start` of their own. */

let folder: string;
let dev: ChildProcess;
let log = "";
beforeAll(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), "toolgate-readme-"));
  chmodSync(folder, 0o755);
  for (const name of ["package.json", "src", "gen", "docs", "node_modules"])
    symlinkSync(path.join(ROOT, name), path.join(folder, name));
  dev = spawn(process.execPath, [path.join(ROOT, "src/main.ts"), "dev", "--no-demo"], {
    cwd: folder,
    env: { ...environment(), PORT: "0", GRPC_PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  dev.stdout?.setEncoding("utf8").on("data", (text: string) => (log += text));
  await vi.waitFor(() => expect(existsSync(path.join(folder, ".toolgate/dev.json"))).toBe(true), {
    timeout: 60_000,
  });
  // The sandbox is offered once its walls were tried: Python starts in nine seconds, on a machine that lends its processors in many more.
  await vi.waitFor(async () => expect(await offered(), log).toContain("sandbox_execute"), {
    timeout: 240_000,
    interval: 500,
  });
}, 300_000);
afterAll(async () => {
  if (dev.exitCode === null) {
    dev.kill("SIGTERM");
    await once(dev, "exit");
  }
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

function environment(): NodeJS.ProcessEnv {
  return { PATH: process.env["PATH"], HOME: process.env["HOME"] };
}

/** The tools that can be called. */
async function offered(): Promise<string[]> {
  const { base_url } = z
    .object({ base_url: z.string() })
    .parse(JSON.parse(readFileSync(path.join(folder, ".toolgate/dev.json"), "utf8")));
  const { tools } = z
    .object({ tools: z.array(z.object({ name: z.string(), status: z.string() })) })
    .parse(await (await fetch(`${base_url}/mcp/capabilities`)).json());
  return tools.filter(({ status }) => status === "active").map(({ name }) => name);
}

/** What stands under a heading, to be pasted. */
function pasted(heading: string, page = "README.md"): string {
  const section =
    readFileSync(path.join(ROOT, page), "utf8")
      .split(/^## /m)
      .find((part) => part.startsWith(`${heading}\n`)) ?? "";
  return /```sh\n([\s\S]*?)```/.exec(section)?.[1] ?? "";
}

async function bash(script: string): Promise<string> {
  const shell = spawn("bash", ["-eu", "-c", script], {
    cwd: folder,
    env: environment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [output, problems] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, "exit")]);
  return output + problems;
}

describe("docs/guides/clients.md", () => {
  it("pays for a call, gasless, after its first lines", async () => {
    const output = await bash(pasted("Try them", "docs/guides/clients.md"));
    expect(output).toMatch(/receipt_id: 'rcpt_/);
    expect(output).toContain("paid_by: 'gasless'");
  });
});

describe("README", () => {
  it("buys a call, and then what every other tool sells", { timeout: 180_000 }, async () => {
    const [first, second] = [pasted("Buy a call by hand"), pasted("Buy the work of every tool")];
    // A busy machine begins the code later than a newcomer's.
    const patient = second.replace("sleep 2", "sleep 8");
    const output = await bash(`${first}\necho ---\n${patient}`);
    const [bought = "", worked = ""] = output.split("\n---\n");
    expect(bought).toMatch(/HTTP 402\n[\s\S]*HTTP 200\n[\s\S]*HTTP 200\n/);
    const answers = worked
      .split("\n")
      .filter((line) => line.startsWith('{"ok":'))
      .map((line): unknown => JSON.parse(line));
    const receipt = { receipt: expect.objectContaining({ status: "final" }) };
    const result = (members: object) => ({ result: expect.objectContaining(members) });
    expect(answers, output).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          ...receipt,
          ...result({ language: "python", status: "succeeded", result: 45 }),
        }),
        expect.objectContaining({
          ...receipt,
          ...result({ language: "javascript", status: "succeeded", result: [1, 4, 9] }),
        }),
        expect.objectContaining({ ...receipt, ...result({ language: "python", status: "cancelled" }) }),
        expect.objectContaining(result({ run_id: "slow", cancelled: true, status: "cancelled" })),
        expect.objectContaining({ ...receipt, ...result({ type: "text", model: "local-stand-in" }) }),
        expect.objectContaining({
          ...receipt,
          ...result({ days: [expect.objectContaining({ date: "2026-06-21" })] }),
        }),
      ]),
    );
  });
});
