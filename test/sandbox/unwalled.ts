import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import type { SandboxLanguage } from "../../src/domain/sandbox.ts";
import { findPrograms } from "../../src/sandbox/process/programs.ts";
import { frameOf } from "../../src/sandbox/process/worker.ts";
import { hasBubblewrap } from "./isolations.ts";

const MOST_MS = 120_000;

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
  const file = path.join(worker, "python.mjs");
  const source = await readFile(file, "utf8");
  const revoke = 'Deno.permissions.revokeSync({ name: "read" });';
  const refusal = "exit(70)";
  if (!source.includes(revoke) || !source.includes(refusal)) throw new Error("the wall to take away was not found");
  await writeFile(file, source.replace(revoke, "").replace(refusal, "void 0"));

  const line = [deno, "run", "-A", "--quiet", "--no-prompt", "--no-config", "--no-lock", `${worker}/${language}.mjs`];
  const namespaces = ["--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"];
  const boxed = hasBubblewrap() ? ["bwrap", ...namespaces, "--bind", folder, folder, ...line] : line;
  const [command = "", ...args] = boxed;
  const env = { DENO_DIR: "/dev/null/deno", NO_COLOR: "1", PATH: process.env.PATH, SANDBOX_TEST_SECRET: "x" };
  const child = spawn(command, args, {
    cwd: "/",
    env,
    stdio: ["pipe", "pipe", "inherit"],
    timeout: MOST_MS,
    killSignal: "SIGKILL",
  });
  child.stdin.on("error", () => {});
  if (language === "python") child.stdin.write(frameOf({ folder: pyodide, wheels: 0 }));
  child.stdin.end(frameOf({ code, nonce: "0".repeat(32) }));
  let said = "";
  child.stdout.on("data", (bytes: Buffer) => (said += bytes.toString()));
  await once(child, "close");
  return said.replace("\0ready\0", "");
}
