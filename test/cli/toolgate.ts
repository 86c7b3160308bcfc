import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { z } from "zod";

const record = z.record(z.string(), z.unknown());

/** Runs a command as a process with only these settings. @returns its output; `rows`: its JSON lines */
export async function runToolgate(settings: Readonly<Record<string, string>>, args: readonly string[]) {
  const child = spawn(process.execPath, ["src/main.mjs", ...args], {
    env: { PATH: process.env["PATH"], DATA_DIR: "/nonexistent", ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const [code] = await once(child, "close");
  const lines = stdout.split("\n").filter((line) => line.startsWith("{"));
  return { code, stdout, stderr, rows: lines.map((line) => record.parse(JSON.parse(line))) };
}
