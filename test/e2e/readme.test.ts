import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { read } from "../../src/sandbox/process/process-table.ts";
import { descendants } from "../sandbox/process-watch.ts";
import { stopChild, whileRuns } from "../support/child.ts";
import { until } from "../support/until.ts";
import { ROOT } from "../tooling/command.ts";
import { commandsUnder, newcomersEnvironment, newcomersFolder, runInBash, withoutNpm } from "./newcomer.ts";

/** Commands of README.md and of the docs, run in a shell beside a development gateway. */

let folder: string;
let dev: ChildProcess | undefined;
let log = "";
let lowDuringSelfTest = 0;
beforeAll(async () => {
  folder = newcomersFolder();
  dev = spawn(process.execPath, [path.join(ROOT, "src/main.mjs"), "dev", "--no-demo"], {
    cwd: folder,
    env: { ...newcomersEnvironment(), PORT: "0", GRPC_PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  dev.stdout?.setEncoding("utf8").on("data", (text: string) => (log += text));
  await whileRuns(
    dev,
    until(() => existsSync(path.join(folder, ".toolgate/dev.json"))),
  );
  // The sandbox is active after its self-test; Python starts in nine seconds, on a busy machine in many more.
  await until(async () => {
    const low = lowPythons(dev?.pid);
    const check = await sandboxCheck();
    if (check === "running") lowDuringSelfTest += low;
    return check === "passed";
  }).catch((cause: unknown) => {
    throw new Error(log, { cause });
  });
});
afterAll(async () => {
  await stopChild(dev);
  rmSync(folder, { recursive: true, force: true });
});

/** Counts Python workers of this process at low priority. */
function lowPythons(pid = 0): number {
  const workers = descendants(pid).filter((one) => read(`/proc/${one}/cmdline`)?.endsWith("/python.mjs\0"));
  return workers.filter(isLow).length;
}

function isLow(pid: number): boolean {
  try {
    return os.getPriority(pid) > os.getPriority();
  } catch {
    // It has ended.
    return false;
  }
}

async function sandboxCheck(): Promise<string> {
  const { base_url } = z
    .object({ base_url: z.string() })
    .parse(JSON.parse(readFileSync(path.join(folder, ".toolgate/dev.json"), "utf8")));
  const { checks } = z
    .object({ checks: z.object({ sandbox: z.string() }) })
    .parse(await (await fetch(`${base_url}/readyz?verbose`)).json());
  return checks.sandbox;
}

it("dev tests its sandbox at full priority: no calls wait meanwhile", () => {
  expect(lowDuringSelfTest).toBe(0);
});

describe("docs/guides/clients.md", () => {
  it("docs/guides/clients.md shows commands that pay for a call gasless", async () => {
    const output = await runInBash(folder, commandsUnder("docs/guides/clients.md", "Try them"));
    expect(output).toMatch(/receipt_id: 'rcpt_/);
    expect(output).toContain("paid_by: 'gasless'");
  });
});

describe("README.md and docs/tutorials/buy-a-call.md", () => {
  it("README.md and the tutorial show commands that buy every tool", async () => {
    const first = commandsUnder("README.md", "Buy a call with curl");
    const second = commandsUnder("docs/tutorials/buy-a-call.md", "Put money on the account");
    // On a busy machine the code starts later; one that sleeps stays below the limit of processor time.
    const patient = withoutNpm(second)
      .replace("sleep 5", "sleep 12")
      .replace("while True: pass", "import time; time.sleep(30)");
    const output = await runInBash(folder, `${first}\necho ---\n${patient}`);
    const [bought = "", worked = ""] = output.split("\n---\n");
    // The local chain has the name of the public one: an offer says where it is.
    expect(bought).toMatch(/"rpc_url":"http:\/\/127\.0\.0\.1:\d+"/);
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
        expect.objectContaining(result({ run_id: "slow", cancelled: true, status: "cancelled" })),
        expect.objectContaining({ ...receipt, ...result({ type: "text", model: "local-stand-in" }) }),
        expect.objectContaining({
          ...receipt,
          ...result({ days: [expect.objectContaining({ date: "2026-06-21" })] }),
        }),
      ]),
    );
    // Paid if its code had started.
    expect(worked).toMatch(/"status":"cancelled".*"receipt"|"code":"CANCELLED"/);
  });
});

describe("docs/tutorials/buy-a-call.md", () => {
  it("docs/tutorials/buy-a-call.md shows a program that pays by itself", async () => {
    const grpc = " TOOLGATE_GRPC=$(dev grpc_address)";
    const commands = commandsUnder("docs/guides/clients.md", "Try them");
    expect(commandsUnder("docs/tutorials/buy-a-call.md", "Let a program pay")).toBe(
      commands.replace(grpc, ""),
    );
  });
});

describe("docs/guides/operations.md", () => {
  it("docs/guides/operations.md shows commands that assign, refund and audit", async () => {
    const output = await runInBash(
      folder,
      withoutNpm(commandsUnder("docs/guides/operations.md", "Try it on the local chain")),
    );
    expect(output).toMatch(/^status +assigned$/m);
    expect(output).toMatch(/^status +refunded$/m);
    expect(output).toMatch(/^treasury_matches_chain +1 +0 /m);
    expect(output).toContain('"clean": true');
  });
});
