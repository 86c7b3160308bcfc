import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { text } from "node:stream/consumers";
import type { Account } from "../../src/dev/embedded-postgres/account.ts";
import { ROOT } from "../tooling/command.ts";

const PAGE = path.join(ROOT, "docs/guides/run-at-scale.md");
const UNIT = path.join(ROOT, "deploy/systemd/toolgate-backup@.service");

/** How the lab runs the commands of the page. */
export interface Shell {
  readonly account: Account | undefined;
  readonly environment: Readonly<Record<string, string>>;
  /** Stands in for systemd: `start postgresql`. @returns false for a unit that it does not know */
  readonly systemctl: (verb: string, unit: string) => Promise<boolean>;
  /** Files of the page by those of the lab. */
  readonly files: Readonly<Record<string, string>>;
}

/**
 * Runs the commands of a section of docs/guides/run-at-scale.md.
 * @returns what they print
 * @throws Error when one fails
 */
export async function runSection(
  shell: Shell,
  heading: string,
  block: "first" | "last" = "first",
): Promise<string> {
  const page = await readFile(PAGE, "utf8");
  const section = page.split(`## ${heading}\n`)[1]?.split(/\n##+ /)[0] ?? "";
  const blocks = [...section.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, lines = ""]) => lines);
  const commands = blocks
    .at(block === "last" ? -1 : 0)
    ?.replaceAll("\\\n", " ")
    .trim()
    .split("\n");
  if (!commands) throw new Error(`docs/guides/run-at-scale.md has no commands in ${heading}`);
  let output = "";
  for (const command of commands) output += await runCommand(shell, command);
  return output;
}

async function runCommand(shell: Shell, command: string): Promise<string> {
  const [, verb = "", unit = ""] = /^systemctl (\S+)(?: --now)? (\S+)/.exec(command) ?? [];
  if (verb === "") return run(shell, command);
  const [, type] = /^toolgate-backup@(\w+)$/.exec(unit) ?? [];
  if (type !== undefined) return backUp(shell, type);
  if (await shell.systemctl(verb, unit)) return "";
  throw new Error(`the lab knows no unit ${unit}`);
}

/** Runs what the unit of backups starts. */
async function backUp(shell: Shell, type: string): Promise<string> {
  const unit = await readFile(UNIT, "utf8");
  let output = "";
  for (const [, command = ""] of unit.matchAll(/^ExecStart=(.*)$/gm))
    output += await run(shell, `sudo -u postgres ${command.replaceAll("%i", type)}`);
  return output;
}

async function run({ account, environment, files }: Shell, command: string): Promise<string> {
  const as = account
    ? `setpriv --reuid=${account.uid} --regid=${account.gid} --clear-groups -- "$@"`
    : '"$@"';
  let own = command;
  for (const [shipped, file] of Object.entries(files)) own = own.replaceAll(shipped, file);
  const child = spawn("bash", ["-euc", `sudo() { shift 2; ${as}; }\n${own}`], {
    cwd: ROOT,
    env: { ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  if (code !== 0) throw new Error(`exit code ${code}: ${own}\n${out}${err}`);
  return out;
}
