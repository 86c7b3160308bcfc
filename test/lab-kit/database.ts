import { readFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { startEmbeddedPostgres } from "../../src/dev/embedded-postgres/index.ts";

/** The database of a lab's gateways. */
export interface LabDatabase {
  /** As the owner of the schema. */
  readonly url: string;
  stop(): Promise<void>;
}

/** One that crashes with an immediate shutdown (SIGQUIT), restarts and recovers. */
export interface CrashingDatabase extends LabDatabase {
  crash(): Promise<void>;
}

/** Starts one durable server. */
export async function startDatabase(dataDir: string): Promise<CrashingDatabase> {
  const settings = { max_connections: "200" };
  let server = await startEmbeddedPostgres({ dataDir, settings });
  let crashing: Promise<void> = Promise.resolve();
  const crash = async (): Promise<void> => {
    await signalPostgres(path.join(dataDir, "postgres/data"), "SIGQUIT");
    await server.stop();
    server = await startEmbeddedPostgres({ dataDir, settings, port: server.port });
  };
  return {
    url: server.url,
    crash: () => (crashing = crash()),
    async stop() {
      await crashing.catch(() => {});
      await server.stop();
    },
  };
}

/** Signals the first process of the server that has the data. */
export async function signalPostgres(data: string, signal: NodeJS.Signals): Promise<void> {
  const lock = await readFile(path.join(data, "postmaster.pid"), "utf8");
  process.kill(Number(lock.split("\n")[0]), signal);
}
