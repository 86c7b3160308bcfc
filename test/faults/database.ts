import { readFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { startEmbeddedPostgres } from "../../src/dev/embedded-postgres/index.ts";

/** The database of the instances. */
export interface GroundDatabase {
  /** As the owner of the schema. */
  readonly url: string;
  /** Crashes it with an immediate shutdown (SIGQUIT), restarts it and waits for recovery. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts one durable server. */
export async function startDatabase(dataDir: string): Promise<GroundDatabase> {
  const settings = { max_connections: "200" };
  let server = await startEmbeddedPostgres({ dataDir, settings });
  let crashing: Promise<void> = Promise.resolve();
  const crash = async (): Promise<void> => {
    const lock = await readFile(path.join(dataDir, "postgres/data/postmaster.pid"), "utf8");
    process.kill(Number(lock.split("\n")[0]), "SIGQUIT");
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
