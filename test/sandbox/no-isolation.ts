import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { SandboxLanguage } from "../../src/domain/tools/sandbox.ts";
import { findPrograms } from "../../src/sandbox/process/programs.ts";
import { frameOf } from "../../src/sandbox/process/worker.ts";
import { hasBubblewrap } from "./isolations.ts";

/** Ends what hangs, ms; Python alone starts in nine seconds, on a busy machine in many more. */
const MAX_MS = 300_000;

/** Protections in the workers' sources: file, text, replacement. */
const PROTECTIONS = [
  ["python.mjs", 'Deno.permissions.revokeSync({ name: "read" });', ""],
  ["python.mjs", "exit(70)", "void 0"],
  ["wire.mjs", "Module._extensions[extension] = refuse;", "void extension;"],
  ["wire.mjs", "Module.prototype._compile = refuse;", ""],
] as const;

/**
 * Runs code in a worker with all permissions, no limits, and no revocation in Python. If available,
 * bubblewrap protects this machine except one folder.
 * @param folder writable by the code; receives copies of the workers
 */
export async function runUnwalled(language: SandboxLanguage, code: string, folder: string): Promise<string> {
  const { deno, pyodide, guest } = findPrograms();
  const worker = path.join(folder, "guest");
  await cp(guest, worker, { recursive: true });
  for (const [name, protection, instead] of PROTECTIONS) {
    const file = path.join(worker, name);
    const source = await readFile(file, "utf8");
    if (!source.includes(protection))
      throw new Error(`the protection to remove was not found in ${name}: ${protection}`);
    await writeFile(file, source.replace(protection, instead));
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
    // Orphans must not keep the test's output open.
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
  // Not "close": an orphan in another process group may keep its output open.
  await once(child, "exit");
  clearTimeout(timer);
  killGroup();
  await Promise.race([once(child, "close"), sleep(200, undefined, { ref: false })]);
  for (const stream of [child.stdin, child.stdout]) stream.destroy();
  return said.replace("\0ready\0", "");
}
