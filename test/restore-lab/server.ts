import { execFile } from "node:child_process";
import { appendFile, chown, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { serverAccount, type Account } from "../../src/dev/embedded-postgres/account.ts";
import { signalPostgres, type LabDatabase } from "../lab-kit/database.ts";

import { restartPort } from "../support/ports.ts";
import { findPostgres, start, type Running } from "../support/programs.ts";
import { query } from "../support/database-server.ts";
import { until } from "../support/until.ts";
import { ROOT } from "../tooling/command.ts";

/** How long a start may take, ms, recovery not included. */
const START_MS = 60_000;

/** A PostgreSQL of Debian that archives its WAL with the shipped configuration of pgBackRest. */
export class ArchivedServer implements LabDatabase {
  readonly url: string;
  /** Runs the server and pgBackRest; undefined: this user. */
  readonly account: Account | undefined;
  /** PATH and configuration of its programs. */
  readonly environment: Readonly<Record<string, string>>;
  readonly #folder: string;
  readonly #port: number;
  #running: Running | undefined;

  private constructor(folder: string, account: Account | undefined, port: number) {
    this.url = `postgresql://postgres@127.0.0.1:${port}/toolgate`;
    this.account = account;
    const programs = [findPostgres(), path.dirname(process.execPath), process.env["PATH"]];
    const configuration = path.join(folder, "pgbackrest.conf");
    this.environment = { PATH: programs.join(":"), PGBACKREST_CONFIG: configuration, HOME: folder };
    this.#folder = folder;
    this.#port = port;
  }

  static async start(dataDir: string): Promise<ArchivedServer> {
    const [account, folder] = [await serverAccount(""), path.join(dataDir, "archived")];
    const server = new ArchivedServer(folder, account, await restartPort());
    for (const name of ["", "repository", "log", "lock", "spool"]) {
      await mkdir(path.join(folder, name), { mode: 0o750 });
      if (account) await chown(path.join(folder, name), account.uid, account.gid);
    }
    const initdb = path.join(findPostgres() ?? "", "initdb");
    const args = ["-D", server.#data, "-U", "postgres", "--auth=trust", "--no-sync"];
    await promisify(execFile)(initdb, args, { ...account, cwd: "/", env: server.environment });
    await server.#configure();
    await server.begin();
    const create = () => query(server.url.replace(/toolgate$/, "postgres"), "create database toolgate");
    await until(create, START_MS).catch(async () => {
      throw new Error(`PostgreSQL did not start: ${await server.log()}`);
    });
    return server;
  }

  /** Starts it; a restored server still recovers then. */
  async begin(): Promise<void> {
    const { account, environment: env } = this;
    const program = path.join(findPostgres() ?? "", "postgres");
    this.#running = start(program, ["-D", this.#data], { account, env, logFile: this.#log });
  }

  /** Shuts it down; all WAL is archived then. */
  async stop(): Promise<void> {
    await this.#running?.stop();
    this.#running = undefined;
  }

  /** Quits without a checkpoint, and loses its disk. */
  async lose(): Promise<void> {
    await signalPostgres(this.#data, "SIGQUIT");
    await this.#running?.ended;
    this.#running = undefined;
    await rm(this.#data, { recursive: true });
    await mkdir(this.#data, { mode: 0o700 });
    if (this.account) await chown(this.#data, this.account.uid, this.account.gid);
  }

  /** The latest log. */
  async log(): Promise<string> {
    return (await readFile(this.#log, "utf8").catch(() => "")).slice(-3_000);
  }

  get #data(): string {
    return path.join(this.#folder, "data");
  }

  get #log(): string {
    return path.join(this.#folder, "log", "postgres.log");
  }

  /** Writes the shipped files with this server's folders and port. */
  async #configure(): Promise<void> {
    const shipped = (name: string) => readFile(path.join(ROOT, "deploy/pgbackrest", name), "utf8");
    const settings = `port = ${this.#port}\nlisten_addresses = '127.0.0.1'\nmax_connections = 200
      unix_socket_directories = '${this.#folder}'\n`;
    await appendFile(
      path.join(this.#data, "postgresql.conf"),
      `${await shipped("postgresql.conf")}${settings}`,
    );
    const own = ["log", "lock", "spool"].map((name) => `${name}-path=${this.#folder}/${name}`);
    const text = (await shipped("pgbackrest.conf"))
      .replace("/var/lib/postgresql/15/main", this.#data)
      .replace("/var/lib/pgbackrest", path.join(this.#folder, "repository"))
      .replace("pg1-port=5432", `pg1-port=${this.#port}\npg1-socket-path=${this.#folder}`)
      .replace("[global]", ["[global]", ...own].join("\n"));
    await writeFile(this.environment["PGBACKREST_CONFIG"] ?? "", text, { mode: 0o644 });
  }
}
