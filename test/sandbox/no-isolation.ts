import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { SandboxLanguage } from "../../src/domain/tools/sandbox.ts";
import { findPrograms } from "../../src/sandbox/process/programs.ts";
import { frameOf } from "../../src/sandbox/process/worker.ts";
import { hasBubblewrap } from "./isolations.ts";

/** Longest that code may take, ms; on an idle machine it ends by itself within seconds. */
const MAX_MS = 60_000;

/** What stands in the workers' own sources: the file, the text, and what takes its place. */
const WALLS = [
  ["python.mjs", 'Deno.permissions.revokeSync({ name: "read" });', ""],
  ["python.mjs", "exit(70)", "void 0"],
  ["wire.mjs", "Module._extensions[extension] = refuse;", "void extension;"],
  ["wire.mjs", "Module.prototype._compile = refuse;", ""],
] as const;

/**
 * Runs code in a worker whose walls are gone: Deno may do everything, no limit holds, and Python's worker keeps what it should give up.
 * Where bubblewrap is, all of that is in namespaces of their own, with nothing to write to but one folder.
 * @param folder a folder of the test's own: the workers are copied to it, and it can be written to
 * @returns all that it said
 */
export async function runUnwalled(language: SandboxLanguage, code: string, folder: string): Promise<string> {
  const { deno, pyodide, guest } = findPrograms();
  const worker = path.join(folder, "guest");
  await cp(guest, worker, { recursive: true });
  for (const [name, wall, instead] of WALLS) {
    const file = path.join(worker, name);
    const source = await readFile(file, "utf8");
    if (!source.includes(wall)) throw new Error(`the wall to take away was not found in ${name}: ${wall}`);
    await writeFile(file, source.replace(wall, instead));
  }

  const line = [
    deno,
    "run",
    "-A",
    "--quiet",
    "--no-prompt",
    "--no-config",
    "--no-lock",
    `${worker}/${language}.mjs`,
  ];
  const namespaces = [
    "--unshare-all",
    "--die-with-parent",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
  ];
  const boxed = hasBubblewrap() ? ["bwrap", ...namespaces, "--bind", folder, folder, ...line] : line;
  const [command = "", ...args] = boxed;
  const env = { DENO_DIR: "/dev/null/deno", NO_COLOR: "1", PATH: process.env.PATH, SANDBOX_TEST_SECRET: "x" };
  const child = spawn(command, args, {
    cwd: "/",
    env,
    detached: true,
    // What the code leaves behind must not hold on to the test's own output.
    stdio: ["pipe", "pipe", "ignore"],
  });
  const killGroup = () => {
    try {
      process.kill(-child.pid!, "SIGKILL");
    } catch {}
  };
  const timer = setTimeout(killGroup, MAX_MS);
  child.stdin.on("error", () => {});
  if (language === "python") child.stdin.write(frameOf({ folder: pyodide, wheels: 0 }));
  child.stdin.end(frameOf({ code, nonce: "0".repeat(32) }));
  let said = "";
  child.stdout.on("data", (bytes: Buffer) => (said += bytes.toString()));
  // Not "close": a process that the code has left behind in another group may hold its output open.
  await once(child, "exit");
  clearTimeout(timer);
  killGroup();
  await Promise.race([once(child, "close"), sleep(200, undefined, { ref: false })]);
  for (const stream of [child.stdin, child.stdout]) stream.destroy();
  return said.replace("\0ready\0", "");
}
