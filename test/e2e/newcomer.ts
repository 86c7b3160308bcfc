import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, symlinkSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { ROOT } from "../tooling/command.ts";

/** A folder like a fresh checkout: the project's files, without data of an earlier run. */
export function newcomersFolder(): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), "toolgate-newcomer-"));
  chmodSync(folder, 0o755);
  for (const name of ["package.json", "src", "gen", "docs", "node_modules"])
    symlinkSync(path.join(ROOT, name), path.join(folder, name));
  return folder;
}

/** An environment without any setting of the test run. */
export function newcomersEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env["PATH"], HOME: process.env["HOME"] };
}

/** The first `sh` block below a heading of level 2. Throws if there is none. */
export function commandsUnder(page: string, heading: string): string {
  const sections = readFileSync(path.join(ROOT, page), "utf8").split(/^## /m);
  const section = sections.find((part) => part.startsWith(`${heading}\n`)) ?? "";
  const commands = /```sh\n([\s\S]*?)```/.exec(section)?.[1];
  if (commands === undefined) throw new Error(`${page}: no sh block under "${heading}"`);
  return commands;
}

/** Leaves out what npm and the bootstrap cost; README.md's own commands run as they are. */
export const withoutNpm = (commands: string): string =>
  commands.replaceAll("npm run -s toolgate --", `'${process.execPath}' src/main.mjs`);

/** Runs commands as pasted into a shell that stops at the first error. Returns stdout and stderr. */
export async function runInBash(folder: string, script: string): Promise<string> {
  const shell = spawn("bash", ["-eu", "-c", script], {
    cwd: folder,
    env: newcomersEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [output, errors] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, "exit")]);
  return output + errors;
}
