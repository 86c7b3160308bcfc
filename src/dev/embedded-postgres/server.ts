import { spawn } from "node:child_process";
import { open, readFile, stat } from "node:fs/promises";
import { Socket } from "node:net";
import path from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import type { Account } from "./account.ts";
import type { Binaries } from "./binaries.ts";
import { type Cluster, clusterOwner } from "./cluster.ts";
import { rootFolder, serverEnvironment } from "./command.ts";
import pg from "pg";
import { errorCode } from "./error.ts";

/** A server that answers queries. */
export interface Server {
  readonly url: string;
  /** Shuts down fast (rollback, checkpoint) and waits for the end. May be called again. */
  readonly stop: () => Promise<void>;
}

/** The server ended before it was ready, or never became ready; `log` is its output. */
export class StartFailure extends Error {
  override name = "StartFailure";
  readonly log: string;
  constructor(message: string, log: string) {
    super(message);
    this.log = log;
  }
}

/** How long a server may take until it answers, in ms; recovery after a crash is part of it. */
const startLimit = 180_000;
/** How long a connection may take, in ms: a server that starts refuses at once; a busy one is slow. */
const connectLimit = 30_000;

/** Fixed settings: the server is local and has one socket. */
const fixedSettings = (port: number) => ({
  listen_addresses: "127.0.0.1",
  port: String(port),
  unix_socket_directories: "",
});

/** Durable as in production, and the same on every machine; callers may override these. */
const defaultSettings = {
  fsync: "on",
  full_page_writes: "on",
  synchronous_commit: "on",
  log_min_messages: "warning",
  log_min_error_statement: "panic",
  log_timezone: "UTC",
  timezone: "UTC",
};

/**
 * Starts the server under its supervisor and waits until it answers.
 *
 * @throws StartFailure
 */
export async function startServer(
  cluster: Cluster,
  binaries: Binaries,
  account: Account | undefined,
  port: number,
  settings: Readonly<Record<string, string>>,
): Promise<Server> {
  const log = await openLog(cluster.logFile, account);
  const options = Object.entries({ ...defaultSettings, ...settings, ...fixedSettings(port) }).flatMap(
    ([name, value]) => ["-c", `${name}=${value}`],
  );
  const owner = account === undefined ? "" : `${account.uid}:${account.gid}`;
  const supervisor = spawn(
    process.execPath,
    [
      path.join(import.meta.dirname, "supervisor.ts"),
      owner,
      binaries.postgres,
      "-D",
      cluster.dataFolder,
      ...options,
    ],
    {
      cwd: rootFolder,
      env: serverEnvironment(),
      stdio: ["pipe", "ignore", log.handle.fd],
      // Its own session: Ctrl-C in the terminal must not end the database before the gateway.
      detached: true,
      windowsHide: true,
    },
  );
  // Neither may keep a finished program alive: when it ends, the pipe closes and the server ends.
  supervisor.unref();
  const lifeline = supervisor.stdin;
  if (lifeline instanceof Socket) lifeline.unref();
  const end = new Promise<"ended">((resolve) => {
    supervisor.once("exit", () => resolve("ended")).once("error", () => resolve("ended"));
  });
  await log.handle.close();

  const stop = async () => {
    supervisor.ref();
    lifeline?.end();
    await end;
  };
  const url = `postgres://${clusterOwner}:${cluster.password}@127.0.0.1:${port}/${clusterOwner}`;
  const began = performance.now();
  for (;;) {
    const answer = await Promise.race([tryDatabase(url), end]);
    if (answer === "ready") return { url, stop };
    if (answer === "ended")
      throw new StartFailure("PostgreSQL ended before it answered", await log.written());
    if (answer !== "not yet" || performance.now() - began > startLimit) {
      await stop();
      throw new StartFailure(
        answer === "not yet" ? "PostgreSQL did not answer in time" : answer.message,
        await log.written(),
      );
    }
    await sleep(20);
  }
}

/** Begins a new log when the old one has grown beyond this many bytes. */
const logLimit = 8 * 1024 * 1024;

async function openLog(file: string, account: Account | undefined) {
  const size = await stat(file).then(
    (found) => found.size,
    () => 0,
  );
  const handle = await open(file, size > logLimit ? "w" : "a", 0o600);
  if (account !== undefined) await handle.chown(account.uid, account.gid);
  const start = (await handle.stat()).size;
  return { handle, written: async () => (await readFile(file)).subarray(start).toString("utf8").trim() };
}

/** Connects to the database, created if absent. @returns "not yet" while starting; an error if hopeless */
async function tryDatabase(url: string): Promise<"ready" | "not yet" | Error> {
  try {
    await withClient(url, (client) => client.query("SELECT 1"));
    return "ready";
  } catch (error) {
    switch (errorCode(error)) {
      case "3D000": // invalid_catalog_name
        return createDatabase(url);
      case "28P01": // invalid_password
        return new Error("PostgreSQL does not accept the password that is kept beside its data");
      default:
        return "not yet";
    }
  }
}

async function createDatabase(url: string): Promise<"ready" | Error> {
  const maintenance = new URL(url);
  const name = maintenance.pathname.slice(1);
  maintenance.pathname = "/postgres";
  try {
    await withClient(maintenance.href, (client) =>
      client.query(`CREATE DATABASE ${pg.escapeIdentifier(name)}`),
    );
    return "ready";
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

async function withClient<T>(connectionString: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString, ssl: false, connectionTimeoutMillis: connectLimit });
  client.on("error", () => undefined); // a server that dies under the connection also rejects the query
  try {
    await client.connect();
    return await use(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
