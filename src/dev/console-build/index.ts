import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { consoleIsCurrent } from "./fingerprint.ts";
import { BUILT } from "./places.ts";

/** Builds the console in a process if its sources changed. @returns whether there is a console to serve */
export async function buildConsoleIfOlder(log: (line: string) => void): Promise<boolean> {
  if (consoleIsCurrent()) return true;
  log("building the console …");
  const { code, output } = await runBuild();
  if (code === 0) return true;
  const older = existsSync(BUILT);
  log(
    "the console could not be built, " +
      `${older ? "and is the one before" : "and is left out"}:\n${output.trimEnd()}`,
  );
  return older;
}

function runBuild(): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve) => {
    const program = path.join(import.meta.dirname, "main.ts");
    const child = spawn(process.execPath, [program], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: undefined },
    });
    let output = "";
    const collect = (chunk: string) => {
      output += chunk;
    };
    child.stdout.setEncoding("utf8").on("data", collect);
    child.stderr.setEncoding("utf8").on("data", collect);
    child.on("error", (error) => resolve({ code: null, output: error.message }));
    child.on("close", (code) => resolve({ code, output }));
  });
}
