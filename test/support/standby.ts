import { execFile } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { startEmbeddedPostgres, type EmbeddedPostgres } from "../../src/dev/embedded-postgres/index.ts";

const run = promisify(execFile);

/** A PostgreSQL server and a standby that streams from it. */
export interface ServerPair {
  readonly primary: EmbeddedPostgres;
  readonly standby: EmbeddedPostgres;
  close(): Promise<void>;
}

/** Starts both, on copies of one data folder. They end with this process at the latest. */
export async function startServerPair(): Promise<ServerPair> {
  const folder = await mkdtemp(path.join(process.env["TEST_DATABASES"] ?? os.tmpdir(), "toolgate-pair-"));
  await chmod(folder, 0o755); // as root, the servers' account has to get in
  const started: EmbeddedPostgres[] = [];
  const close = async () => {
    await Promise.all(started.map((server) => server.stop()));
    await rm(folder, { recursive: true, force: true });
  };
  const start = async (name: string, settings: Record<string, string> = {}) => {
    const server = await startEmbeddedPostgres({ dataDir: path.join(folder, name), settings });
    started.push(server);
    return server;
  };
  try {
    // A stopped server's folder can be copied without a base backup.
    await (await start("primary")).stop();
    const copy = path.join(folder, "standby", "postgres", "data");
    await run("cp", ["-a", path.join(folder, "primary"), path.join(folder, "standby")]);
    await writeFile(path.join(copy, "standby.signal"), "");
    const primary = await start("primary");
    const { username, password } = new URL(primary.url);
    const standby = await start("standby", {
      hot_standby_feedback: "on",
      primary_conninfo: `host=127.0.0.1 port=${primary.port} user=${username} password=${password}`,
    });
    return { primary, standby, close };
  } catch (error) {
    await close();
    throw error;
  }
}
