import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { parse } from "yaml";
import { z } from "zod";
import type { Account } from "../../src/dev/embedded-postgres/account.ts";
import { openDatabaseLink, type DatabaseLink } from "../support/database-link.ts";
import { ROOT } from "../tooling/command.ts";
import { killAll, ProcessTree } from "../tooling/process-tree.ts";
import { restartPort } from "../support/ports.ts";
import { find, findPostgres, start, type Running } from "../support/programs.ts";
import { until } from "../support/until.ts";

/** Password of every role of PostgreSQL. */
export const PASSWORD = "failover-lab";

const settings = z.record(z.string(), z.unknown());
const file = z.looseObject({
  bootstrap: z.looseObject({ dcs: settings }),
  postgresql: z.looseObject({ parameters: settings, authentication: z.record(z.string(), settings) }),
});

/** Options of a server. */
export interface NodeOptions {
  readonly name: string;
  /** An empty folder of the account. */
  readonly folder: string;
  readonly account: Account | undefined;
  readonly etcdUrl: string;
  /** Settings of the cluster that differ from deploy/patroni/patroni.yml. */
  readonly dcs: Readonly<Record<string, unknown>>;
}

/** Lines to a server: of the other servers, of HAProxy to PostgreSQL and to Patroni, and its own to etcd. */
interface Lines {
  readonly peers: DatabaseLink;
  readonly clients: DatabaseLink;
  readonly rest: DatabaseLink;
  readonly etcd: DatabaseLink;
}

/** A server of PostgreSQL with its Patroni, as one machine. */
export class Node {
  readonly name: string;
  /** Patroni's REST API, not interrupted by faults. */
  readonly restUrl: string;
  readonly lines: Lines;
  readonly #options: NodeOptions;
  #running: Running | undefined;

  private constructor(options: NodeOptions, restUrl: string, lines: Lines) {
    this.name = options.name;
    this.restUrl = restUrl;
    this.lines = lines;
    this.#options = options;
  }

  static async open(options: NodeOptions): Promise<Node> {
    const [postgres, rest] = [await restartPort(), await restartPort()];
    const [postgresUrl, restUrl] = [`http://127.0.0.1:${postgres}`, `http://127.0.0.1:${rest}`];
    const lines = {
      peers: await openDatabaseLink(postgresUrl),
      clients: await openDatabaseLink(postgresUrl),
      rest: await openDatabaseLink(restUrl),
      etcd: await openDatabaseLink(options.etcdUrl),
    };
    const node = new Node(options, restUrl, lines);
    await node.#configure(postgres, rest);
    return node;
  }

  /** Starts Patroni, which starts PostgreSQL. */
  start(): void {
    const { account } = this.#options;
    this.#running = start(find("patroni") ?? "", [this.#configFile], { account, logFile: this.#logFile });
  }

  /** Ends every process of the machine at once. */
  async kill(): Promise<void> {
    // All of them stop first, so that none sees another one end.
    for (const pid of await this.signal("SIGSTOP")) kill(pid, "SIGKILL");
    await this.#running?.ended;
    this.#running = undefined;
  }

  async resume(): Promise<void> {
    await this.signal("SIGCONT");
  }

  /** The machine's network loses every packet, until {@link mend}. @param clients those of HAProxy too */
  cutOff(clients: boolean): void {
    const { peers, etcd } = this.lines;
    for (const line of clients ? Object.values(this.lines) : [peers, etcd]) line.silence();
  }

  /** The standbys receive nothing, until {@link mend}. */
  holdReplication(): void {
    this.lines.peers.silence();
  }

  mend(): void {
    for (const line of Object.values(this.lines)) line.mend();
  }

  async close(): Promise<void> {
    await this.#end();
    await Promise.all(Object.values(this.lines).map((line) => line.close()));
  }

  /** Kills Patroni and shuts PostgreSQL down, which removes its shared memory. */
  async #end(): Promise<void> {
    await this.resume();
    const tree = new ProcessTree(this.#running ? [this.#running.pid] : [], "");
    tree.sample("");
    killAll(tree.alive());
    await this.#running?.ended;
    for (const pid of await this.#postmaster()) {
      kill(pid, "SIGQUIT");
      await until(() => !existsSync(`/proc/${pid}`), 10_000).catch(() => {});
    }
  }

  /** The server's first process, if it runs. */
  async #postmaster(): Promise<readonly number[]> {
    const lock = await readFile(path.join(this.#dataFolder, "postmaster.pid"), "utf8").catch(() => "");
    const pid = Number(lock.split("\n")[0]);
    // The file of a killed server stays, and its number may be another process's.
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    return pid > 0 && command.includes(this.#dataFolder) ? [pid] : [];
  }

  /** Signals every process of the machine. @returns them */
  async signal(signal: NodeJS.Signals): Promise<readonly number[]> {
    const postmaster = await this.#postmaster();
    const tree = new ProcessTree([...(this.#running ? [this.#running.pid] : []), ...postmaster], "");
    // A process may start others until it is stopped.
    for (let turn = 0; ; turn++) {
      tree.sample("");
      const found = [...postmaster, ...tree.alive().map(({ pid }) => pid)];
      for (const pid of found) kill(pid, signal);
      if (turn === 2) return found;
      await sleep(1);
    }
  }

  /** The latest log of Patroni and PostgreSQL. */
  async log(): Promise<string> {
    return (await readFile(this.#logFile, "utf8").catch(() => "")).slice(-3_000);
  }

  get #logFile(): string {
    return path.join(this.#options.folder, "log");
  }

  get #dataFolder(): string {
    return path.join(this.#options.folder, "data");
  }

  get #configFile(): string {
    return path.join(this.#options.folder, "patroni.json");
  }

  /** Writes deploy/patroni/patroni.yml with this server's addresses, folders and passwords. */
  async #configure(postgres: number, rest: number): Promise<void> {
    const { name, folder, dcs } = this.#options;
    const { peers, rest: restLine, etcd } = this.lines;
    const text = await readFile(path.join(ROOT, "deploy/patroni/patroni.yml"), "utf8");
    const shipped = file.parse(parse(text));
    const { bootstrap, postgresql } = shipped;
    const authentication = Object.entries(postgresql.authentication).map(([role, login]) => [
      role,
      { ...login, password: PASSWORD },
    ]);
    const config = {
      ...{ ...shipped, name },
      restapi: { listen: `127.0.0.1:${rest}`, connect_address: `127.0.0.1:${restLine.port}` },
      // Without proxies Patroni asks etcd for its address and bypasses the line.
      etcd: { hosts: [`127.0.0.1:${etcd.port}`], use_proxies: true },
      bootstrap: { ...bootstrap, dcs: { ...bootstrap.dcs, ...dcs } },
      postgresql: {
        ...postgresql,
        ...{ listen: `127.0.0.1:${postgres}`, connect_address: `127.0.0.1:${peers.port}` },
        ...{ data_dir: this.#dataFolder, bin_dir: findPostgres(), pgpass: path.join(folder, "pgpass") },
        authentication: Object.fromEntries(authentication),
        parameters: { ...postgresql.parameters, unix_socket_directories: folder },
      },
    };
    await writeFile(this.#configFile, JSON.stringify(config), { mode: 0o644 });
  }
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}
