import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import type { Stream } from "node:stream";
import { text } from "node:stream/consumers";
import { vi } from "vitest";
import { stopChild } from "../../support/child.ts";

const SCRIPT = path.join(import.meta.dirname, "machine.sh");
const PROGRAMS = ["git", "mmdebstrap", "nsenter", "setpriv", "slirp4netns", "unshare"];
const ADMIN_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/** Environment of the machine's shell. The packages that npm downloads are kept for the next machine. */
const ENVIRONMENT = [
  `PATH=${ADMIN_PATH}`,
  "HOME=/root",
  "LANG=C.UTF-8",
  "npm_config_cache=/var/cache/npm",
  "NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt",
];
/** Limit of a step on a busy machine; on a quiet one the longest takes a minute or two. */
export const LIMIT_MS = 600_000;
/** The loopback interface of the test as the machine sees it. */
export const HOST = "10.0.2.2";

/** Commands that succeed where the packages can be fetched that are installed in a machine. */
const FETCHES = [
  ["mmdebstrap", "--simulate", "--variant=essential", "trixie", "/dev/null"],
  ["npm", "ping"],
] as const;
const NEEDED_BYTES = 10e9;

/** Returns why no machine can be started here; undefined if one can. */
export async function missing(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "only root can start a machine";
  const programs = PROGRAMS.filter((name) => run(name, ["--version"]) === undefined);
  if (programs.length > 0) return `not installed: ${programs.join(", ")}`;
  if (!existsSync("/dev/net/tun")) return "no /dev/net/tun";
  const probe = "mount -t cgroup2 cgroup2 /mnt && mkdir /mnt/$PPID && rmdir /mnt/$PPID";
  const namespaces = ["--mount", "--pid", "--net", "--fork", "--mount-proc"];
  if (run("unshare", [...namespaces, "sh", "-c", probe]) !== 0)
    return "no namespaces or control groups can be created";
  const { bavail, bsize } = statfsSync(tmpdir());
  if (bavail * bsize < NEEDED_BYTES) return `less than ${NEEDED_BYTES / 1e9} GB are free`;
  return (
    FETCHES.filter(([program, ...args]) => run(program, args) !== 0)
      .map((command) => `failed: ${command.join(" ")}`)
      .join() || undefined
  );
}

/** A bare Debian 13 with its own systemd, processes and network, in a folder of its own. */
export class Machine {
  readonly #folder = mkdtempSync(path.join(tmpdir(), "toolgate-machine-"));
  readonly #group = path.basename(this.#folder);
  readonly root = path.join(this.#folder, "root");
  readonly #children: ChildProcess[] = [];
  #inside: readonly string[] = [];
  #shell: ChildProcess | undefined;
  #pasted = 0;
  #busy = false;

  async build(): Promise<void> {
    const child = this.#spawn(SCRIPT, ["BUILD", this.#folder]);
    const [log, [code]] = await Promise.all([text(child.stderr!), once(child, "close")]);
    if (code !== 0) throw new Error(`Debian could not be installed:\n${log.slice(-2_000)}`);
  }

  /** Boots it, connects it with the network and opens a shell of root. */
  async boot(): Promise<void> {
    const cache = path.join(homedir(), ".npm");
    const machine = this.#spawn(SCRIPT, ["BOOT", this.#folder, this.#group], {
      NPM_CACHE: existsSync(cache) ? cache : "",
    });
    await firstData(machine, machine.stdout!);
    const init = readFileSync(`/proc/${machine.pid}/task/${machine.pid}/children`, "utf8").trim();
    const network = this.#spawn("slirp4netns", ["--configure", "--mtu=65520", "--ready-fd=3", init, "tap0"]);
    await firstData(network, network.stdio[3]!);
    this.#inside = ["--target", init, "--all"];
    await vi.waitFor(
      () => {
        if (run("nsenter", [...this.#inside, "systemctl", "is-active", "multi-user.target"]) !== 0)
          throw new Error("the machine did not boot");
      },
      { timeout: 120_000, interval: 500 },
    );
    const shell = ["env", "-i", ...ENVIRONMENT, "bash", "-eu", "-o", "pipefail"];
    this.#shell = this.#spawn("nsenter", [...this.#inside, ...shell]);
  }

  /** Pastes commands into the shell and returns their output. @throws Error with it if one of them fails */
  async paste(commands: string): Promise<string> {
    const shell = this.#shell;
    if (!shell || shell.exitCode !== null) throw new Error("the shell ended at an earlier command");
    if (this.#busy) throw new Error("an earlier command still runs");
    this.#busy = true;
    const name = `pasted-${++this.#pasted}`;
    const end = `\n${name}\n`;
    writeFileSync(path.join(this.root, "root", name), commands);
    let output = "";
    const finished = new Promise<void>((resolve, reject) => {
      shell.stdout!.setEncoding("utf8").on("data", (chunk: string) => {
        output += chunk;
        if (output.endsWith(end)) resolve();
      });
      shell.once("close", () => reject(new Error(`a command failed:\n${output}\n${this.#journal()}`)));
    });
    // No command reads what is pasted after it.
    shell.stdin!.write(`. /root/${name} </dev/null 2>&1; printf '\\n${name}\\n'\n`);
    await finished.finally(() => shell.removeAllListeners("close").stdout!.removeAllListeners("data"));
    this.#busy = false;
    return output.slice(0, -end.length);
  }

  /** Ends all its processes and removes its folder. */
  async close(): Promise<void> {
    run(SCRIPT, ["END", this.#folder, this.#group]);
    for (const child of this.#children) await stopChild(child, "SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #journal(): string {
    const args = [...this.#inside, "journalctl", "--no-pager", "--lines=60", "--unit=toolgate@*"];
    return spawnSync("nsenter", args, { encoding: "utf8" }).stdout;
  }

  /** Starts a program that ends with this process. */
  #spawn(program: string, args: readonly string[], env: Record<string, string> = {}): ChildProcess {
    const child = spawn("setpriv", ["--pdeathsig=KILL", program, ...args], {
      env: { PATH: ADMIN_PATH, ...env },
      stdio: ["pipe", "pipe", "pipe", "pipe"],
    });
    this.#children.push(child);
    return child;
  }
}

/** Waits until a program writes to a stream. @throws Error with its messages if it ends before */
async function firstData(child: ChildProcess, stream: Stream): Promise<void> {
  let messages = "";
  child.stderr!.setEncoding("utf8").on("data", (chunk: string) => (messages += chunk));
  const end = once(child, "close").then(() => Promise.reject(new Error(`it ended:\n${messages}`)));
  await Promise.race([once(stream, "data"), end]);
  end.catch(() => {});
}

/** Returns the exit code of a program; undefined if it does not exist. */
function run(program: string, args: readonly string[]): number | undefined {
  const { error, status } = spawnSync(program, args, { env: { PATH: ADMIN_PATH } });
  return error ? undefined : (status ?? 1);
}
