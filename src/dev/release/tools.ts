import { spawn } from "node:child_process";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");
/** Where everything is built. */
export const DIST = path.join(ROOT, "dist");

/** Runs a program in the checkout; returns its stdout. @throws Error with its output if it fails */
export function run(program: string, ...args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe"],
      shell: process.platform === "win32",
    });
    const output = { stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (output.stdout += chunk));
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (output.stderr += chunk));
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve(output.stdout);
      else reject(new Error(`${program} ${args.join(" ")} failed:\n${output.stdout}${output.stderr}`));
    });
  });
}

/** Packs a folder with `npm pack`; returns the tarball's path in dist/. */
export async function pack(folder: string): Promise<string> {
  const args = ["pack", folder, "--pack-destination", DIST, "--ignore-scripts", "--loglevel=error"];
  const name = (await run("npm", ...args)).trim().split("\n").at(-1) ?? "";
  return path.join(DIST, name);
}
