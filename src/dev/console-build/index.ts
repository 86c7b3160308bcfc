import { spawn } from "node:child_process";
import path from "node:path";
import process from "node:process";
import { consoleIsCurrent } from "./fingerprint.ts";

/**
 * Builds the console where its sources have changed since, in a process of its own: nothing that serves loads what builds.
 * @returns whether the built console is that of the sources; why it is not was told
 */
export async function buildConsoleIfOlder(tell: (line: string) => void): Promise<boolean> {
  if (consoleIsCurrent()) return true;
  tell("building the console …");
  const { code, output } = await runBuild();
  if (code === 0) return true;
  tell(`the console could not be built, and is left out:\n${output.trimEnd()}`);
  return false;
}

function runBuild(): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve) => {
    const program = path.join(import.meta.dirname, "main.ts");
    const child = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "pipe"] });
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
