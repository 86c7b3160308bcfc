import { spawn, type ChildProcess } from "node:child_process";
import { accessSync, constants, openSync, readdirSync } from "node:fs";
import { once } from "node:events";
import path from "node:path";
import process from "node:process";
import type { Account } from "../../src/dev/embedded-postgres/account.ts";
import { ROOT } from "../tooling/command.ts";

const SUPERVISOR = path.join(ROOT, "src/dev/embedded-postgres/supervisor.ts");
const DEBIAN = "/usr/lib/postgresql";

/** The Debian package of each program. */
const PACKAGES = {
  patroni: "patroni",
  etcd: "etcd-server",
  haproxy: "haproxy",
  pgbackrest: "pgbackrest",
  pebble: "pebble",
  certbot: "certbot",
} as const;

type Program = keyof typeof PACKAGES;

/** Returns where a program is; undefined: it is not installed. */
export function find(program: Program): string | undefined {
  return ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"]
    .map((folder) => path.join(folder, program))
    .find(isExecutable);
}

/** Returns the folder of PostgreSQL's programs, of the latest version; undefined: not installed. */
export function findPostgres(): string | undefined {
  return versions()
    .map((version) => path.join(DEBIAN, version, "bin"))
    .find((folder) => isExecutable(path.join(folder, "postgres")));
}

/** Returns the Debian packages of these programs, and of PostgreSQL, that are missing. */
export function missingPackages(...programs: readonly Program[]): string[] {
  const missing = programs
    .filter((program) => find(program) === undefined)
    .map((program) => PACKAGES[program]);
  return findPostgres() === undefined ? [...missing, "postgresql"] : missing;
}

/** A running program. */
export interface Running {
  /** The process that ends the program when this one ends. */
  readonly pid: number;
  readonly ended: Promise<unknown>;
  /** Ends it regularly; resolves when it has ended. */
  stop(): Promise<void>;
}

/** Starts a program that ends with this process at the latest. */
export function start(
  program: string,
  args: readonly string[],
  options: { account: Account | undefined; logFile: string; env?: Readonly<Record<string, string>> },
): Running {
  const { account, logFile, env = {} } = options;
  const owner = account === undefined ? "" : `${account.uid}:${account.gid}`;
  const log = openSync(logFile, "a");
  const child: ChildProcess = spawn(process.execPath, [SUPERVISOR, owner, program, ...args], {
    cwd: "/",
    env: { PATH: process.env["PATH"], HOME: "/nonexistent", ...env },
    stdio: ["pipe", "ignore", log],
  });
  const ended = once(child, "exit");
  return {
    pid: child.pid ?? Number.NaN,
    ended,
    async stop() {
      child.stdin?.end();
      await ended;
    },
  };
}

function versions(): string[] {
  try {
    return readdirSync(DEBIAN).sort((one, other) => Number(other) - Number(one));
  } catch {
    return [];
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
