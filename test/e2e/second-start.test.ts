import { spawn, type ChildProcess } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { runToolgateHere } from "../cli/toolgate.ts";
import { stopChild, whileRuns } from "../support/child.ts";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";

/** A second start: in the same folder, in another folder, and after each kind of end. */

let folder: string;
const running = new Set<ChildProcess>();
beforeAll(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "toolgate-second-"));
  chmodSync(folder, 0o755);
});
afterEach(async () => {
  for (const child of running) await stopChild(child, "SIGKILL");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Started {
  child: ChildProcess;
  /** Output so far, stdout and stderr. */
  output(): string;
  /** The exit code, or the signal that ended it. */
  ended: Promise<number | string | null>;
}

function toolgate(dataDir: string, args: readonly string[], settings: Record<string, string> = {}): Started {
  const child = spawn(process.execPath, ["src/main.mjs", ...args], {
    env: {
      PATH: process.env["PATH"],
      HOME: process.env["HOME"],
      DATA_DIR: dataDir,
      SANDBOX_ISOLATION: "off",
      ...settings,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const ended = new Promise<number | string | null>((resolve) => {
    child.once("exit", () => running.delete(child));
    child.once("close", (code, signal) => resolve(code ?? signal));
  });
  return { child, output: () => output, ended };
}

const ANY_PORT = { PORT: "0", GRPC_PORT: "0" };
const START = ["dev", "--no-demo", "--json"];
const devJsonOf = (dataDir: string) => path.join(dataDir, "dev.json");

function addressesIn(dataDir: string): { base_url: string; grpc_address: string } {
  return JSON.parse(readFileSync(devJsonOf(dataDir), "utf8"));
}

/** A killed process may have left dev.json, which is written before this line. */
async function untilReady({ child, output }: Started): Promise<void> {
  await whileRuns(child, expect.poll(output).toContain('"base_url"'));
}

it("a second start fails in the same folder until a kill frees it, and gets free ports in another", async () => {
  const dataDir = path.join(folder, "one");
  const first = toolgate(dataDir, START);
  // Starts again while the first start is running, and once more when it is ready.
  await expect.poll(() => existsSync(path.join(dataDir, "dev.lock"))).toBe(true);
  const early = toolgate(dataDir, START, ANY_PORT);
  expect(await early.ended).toBe(1);
  expect(early.output()).toMatch(
    /^Toolgate is already running on .*one \(process \d+\)\. Stop it first.*\n$/,
  );
  await untilReady(first);
  const before = ["dev.json", "state.json"].map((name) => readFileSync(path.join(dataDir, name), "utf8"));
  const late = toolgate(dataDir, START, ANY_PORT);
  expect(await late.ended).toBe(1);
  expect(late.output()).toMatch(/^Toolgate is already running on .*one \(process \d+\)\. Stop it first.*\n$/);
  expect(["dev.json", "state.json"].map((name) => readFileSync(path.join(dataDir, name), "utf8"))).toEqual(
    before,
  );

  const otherDir = path.join(folder, "two");
  const other = toolgate(otherDir, START);
  await untilReady(other);
  const [one, two] = [addressesIn(dataDir), addressesIn(otherDir)];
  expect(one.base_url).not.toBe(two.base_url);
  expect(one.grpc_address).not.toBe(two.grpc_address);
  other.child.kill("SIGINT");
  expect(await other.ended).toBe(0);

  first.child.kill("SIGKILL");
  await first.ended;
  // The database of the killed process ends a moment later.
  const audit = async () => {
    const { code, stderr } = await runToolgateHere({ DATA_DIR: dataDir }, ["audit"]);
    return `${String(code)} ${stderr}`;
  };
  await expect
    .poll(audit, { interval: 500 })
    .toMatch(/^1 .*database .*cannot be reached \(ECONNREFUSED\).*npm start.*\n$/);

  const again = toolgate(dataDir, START, ANY_PORT);
  await untilReady(again);
  again.child.kill("SIGTERM");
  expect(await again.ended).toBe(0);
  expect(existsSync(devJsonOf(dataDir))).toBe(false);
  expect(existsSync(path.join(dataDir, "dev.lock"))).toBe(false);
});

it("a start that is interrupted ends quietly", async () => {
  const dataDir = path.join(folder, "two");
  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const) {
    const interrupted = toolgate(dataDir, START);
    await expect.poll(interrupted.output).toContain("Starting PostgreSQL");
    interrupted.child.kill(signal);
    expect(await interrupted.ended).toBe(code);
    expect(interrupted.output()).not.toMatch(/error|EPIPE|\n\s+at /i);
    expect(existsSync(path.join(dataDir, "dev.lock"))).toBe(false);
  }
});
