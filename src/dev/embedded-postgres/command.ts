import { spawn } from "node:child_process";
import process from "node:process";
import type { Account } from "./account.ts";

/** How a program ended: its exit code (null when it was killed or never ran) and everything it wrote. */
export interface CommandResult {
  readonly code: number | null;
  readonly output: string;
}

/** Runs a PostgreSQL program as `account`. Never rejects: not being executable is a result too. */
export function run(
  file: string,
  args: readonly string[],
  account: Account | undefined,
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      ...account,
      cwd: rootFolder,
      env: serverEnvironment(),
      stdio: ["ignore", "pipe", "pipe"],
      windowsHide: true,
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.on("error", (error) => resolve({ code: null, output: error.message }));
    child.on("close", (code) => resolve({ code, output: output.trim() }));
  });
}

/** A working directory for every account: the caller's own may be closed to the server's account. */
export const rootFolder = process.platform === "win32" ? (process.env["SystemRoot"] ?? "C:\\") : "/";

/** The environment of PostgreSQL programs: no PG* variables, locale or time zone of the shell. */
export function serverEnvironment(): NodeJS.ProcessEnv {
  const kept = ["PATH", "SystemRoot", "TEMP", "TMP"].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(kept), LC_ALL: "C", TZ: "UTC" };
}
