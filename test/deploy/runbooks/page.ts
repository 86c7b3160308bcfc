import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { runToolgateHere } from "../../cli/toolgate.ts";
import { ROOT } from "../../tooling/command.ts";

const TOOLGATE = "node src/main.ts ";

/** What the commands of a page are run with. */
export interface Machine {
  /** Settings of the instance; the commands have its `.env`. */
  readonly settings: Readonly<Record<string, string>>;
  /** host:port by the placeholder of the pages. */
  readonly addresses: Readonly<Record<string, string>>;
  /** The instance's log, which `journalctl` shows. */
  readonly log: string;
}

function pageOf(alert: string): string {
  return readFileSync(path.join(ROOT, `docs/runbooks/${alert}.md`), "utf8");
}

/** The lines of the page's fenced blocks. */
export function commandsOf(alert: string): string[] {
  const blocks = pageOf(alert).matchAll(/^```sh\n([\s\S]*?)^```$/gm);
  return [...blocks].flatMap(([, block = ""]) => block.trim().split("\n"));
}

/** What the page's text says to run or to set, with these values for its placeholders. */
export function remedyOf(
  alert: string,
  start: string,
  values: Readonly<Record<string, string>> = {},
): string {
  const text = pageOf(alert).replaceAll(/^```[\s\S]*?^```$/gm, "");
  const spans = [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code.replaceAll(/\s+/g, " "));
  const found = spans.find((code) => code.startsWith(start));
  if (found === undefined) throw new Error(`${alert}: no remedy ${start}`);
  return found.replaceAll(/\b[A-Z]+\b/g, (name) => values[name] ?? name);
}

/** Runs a command as a reader would. @returns what it printed @throws Error when it does not answer */
export async function runCommand(line: string, machine: Machine): Promise<string> {
  const printed = line.startsWith(TOOLGATE) ? await toolgate(line, machine) : await shell(line, machine);
  if (printed.trim() === "") throw new Error(`it prints nothing: ${line}`);
  return printed;
}

async function toolgate(line: string, { settings }: Machine): Promise<string> {
  const args = line.slice(TOOLGATE.length).split(" ");
  const { code, stdout, stderr } = await runToolgateHere(settings, args);
  if (code === 2) throw new Error(`wrong usage: ${line}: ${stderr}`);
  return stdout + stderr;
}

async function shell(line: string, { settings, addresses, log }: Machine): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), "runbook-"));
  // systemd is not what is tested: the journal is the log of the instance.
  writeFileSync(path.join(folder, "journal"), log);
  const standIn = (name: string, command: string) =>
    writeFileSync(path.join(folder, name), `#!/bin/sh\n${command}\n`, { mode: 0o700 });
  standIn("journalctl", `cat ${folder}/journal`);
  // The instance runs in this process.
  standIn("pgrep", `echo ${process.pid}`);
  const filled = line.replaceAll(
    /\b(?:METRICS_)?HOST:(?:METRICS_)?PORT\b/g,
    (name) => addresses[name] ?? name,
  );
  const env = { ...settings, PATH: `${folder}:${process.env["PATH"]}`, PGCONNECT_TIMEOUT: "5" };
  try {
    return await new Promise((resolve, reject) =>
      execFile("sh", ["-c", filled], { env, timeout: 30_000 }, (error, stdout, stderr) =>
        error?.code === 127 ? reject(new Error(`${line}: ${stderr}`)) : resolve(stdout + stderr),
      ),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}
