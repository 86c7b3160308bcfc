import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Account, serverAccount } from "./account.ts";
import { type Binaries, findBinaries } from "./binaries.ts";
import { type Cluster, openCluster } from "./cluster.ts";
import { freePort } from "../free-port.ts";
import { EmbeddedPostgresError } from "./error.ts";
import { alreadyRunning, waitUntilUnused } from "./postmaster.ts";
import { StartFailure, startServer } from "./server.ts";

export { EmbeddedPostgresError } from "./error.ts";

export interface EmbeddedPostgresOptions {
  /** The DATA_DIR setting: its folder `postgres` keeps the database; deleting that resets it. */
  readonly dataDir: string;
  /** TCP port on 127.0.0.1; 0, the default, takes a free one. */
  readonly port?: number;
  /** PostgreSQL settings by name: `{ max_connections: "200" }`. Commits are durable by default. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Receives one line per slow step. */
  readonly onProgress?: (text: string) => void;
}

export interface EmbeddedPostgres {
  /** Connection string of the database `toolgate`, with the password. */
  readonly url: string;
  readonly port: number;
  /** Shuts the server down fast and waits until it has gone. May be called again. */
  stop(): Promise<void>;
}

/**
 * Starts PostgreSQL from an npm package, for development and tests. It serves the database `toolgate` on
 * 127.0.0.1 only, with a random password that is stored beside the data. It ends with this process.
 *
 * PostgreSQL refuses to run as root. Started by root it runs as the owner of the existing data, at first as
 * `nobody`. That account must reach the programs and the data. In a folder that is closed to it, such as
 * root's home, the programs are copied to the system's temporary folder, and the data is stored in
 * `/var/lib/toolgate/postgres-…` (or below `/var/tmp`), with a link to it at `dataDir/postgres`. To delete
 * the data, delete both.
 *
 * @throws EmbeddedPostgresError if another server uses the folder, it contains other files or data of
 * another major version, the port is taken, or PostgreSQL does not run here; the message names the remedy
 */
export async function startEmbeddedPostgres({
  dataDir,
  port = 0,
  settings = {},
  onProgress = () => {},
}: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const folder = path.resolve(dataDir);
  const account = await serverAccount(path.join(folder, "postgres", "data"));
  const binaries = await findBinaries(account, onProgress);
  const cluster = await openCluster(folder, account, binaries, onProgress);
  await waitUntilUnused(cluster.dataFolder);
  onProgress(`Starting PostgreSQL ${binaries.major}`);
  return startOnPort({ cluster, binaries, account, settings }, port);
}

interface Launch {
  readonly cluster: Cluster;
  readonly binaries: Binaries;
  readonly account: Account | undefined;
  readonly settings: Readonly<Record<string, string>>;
}

/** Starts, again where that helps: a port may be taken, and a killed server's children need a moment. */
async function startOnPort(
  { cluster, binaries, account, settings }: Launch,
  port: number,
): Promise<EmbeddedPostgres> {
  for (let attempt = 1; ; attempt++) {
    const actual = port === 0 ? await freePort() : port;
    try {
      const server = await startServer(cluster, binaries, account, actual, settings);
      return { url: server.url, port: actual, stop: server.stop };
    } catch (error) {
      if (!(error instanceof StartFailure)) throw error;
      const portTaken = error.log.includes("could not bind IPv4 address");
      const childrenAlive = error.log.includes("pre-existing shared memory block");
      if (attempt === 10 || !(childrenAlive || (portTaken && port === 0)))
        throw explain(error, cluster, portTaken ? port : undefined);
      await sleep(childrenAlive ? 500 : 0);
    }
  }
}

function explain(
  failure: StartFailure,
  cluster: Cluster,
  takenPort: number | undefined,
): EmbeddedPostgresError {
  const rival = /lock file "postmaster\.pid" already exists(?:[\s\S]*?PID (\d+))?/.exec(failure.log);
  if (rival) return alreadyRunning(cluster.dataFolder, rival[1] === undefined ? undefined : Number(rival[1]));
  if (takenPort !== undefined)
    return new EmbeddedPostgresError(
      `Port ${takenPort} of 127.0.0.1 is taken by another program: choose another one, or 0.`,
    );
  return new EmbeddedPostgresError(
    `${failure.message}. Its log, ${cluster.logFile}, says:\n${failure.log.slice(-4_000)}`,
    { cause: failure },
  );
}
