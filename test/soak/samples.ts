import { readdir, readFile, readlink } from "node:fs/promises";
import process from "node:process";
import { z } from "zod";
import { query } from "../support/database-server.ts";
import { until } from "../support/until.ts";

/** Maximum time of a garbage collection, ms. */
const COLLECTING_MS = 10_000;

/** Output of collect-garbage.mjs. */
const memory = z.object({
  collections: z.number(),
  rss: z.number(),
  heapUsed: z.number(),
  external: z.number(),
});

/** Resources of the gateway at one time. */
export interface Sample {
  /** Seconds since the load started. */
  readonly seconds: number;
  /** Resident memory, heap, and external memory after garbage collection, MB. */
  readonly residentMb: number;
  readonly heapMb: number;
  readonly externalMb: number;
  readonly descriptors: number;
  /** Open sockets among the descriptors. */
  readonly sockets: number;
  /** Resources that keep the event loop alive: sockets, timers, servers. */
  readonly resources: number;
  /** Event loop delay since the previous sample, ms. */
  readonly loopDelayMs: number;
  readonly databaseConnections: number;
  readonly databaseMb: number;
}

/** The observed process. */
export interface Subject {
  readonly pid: number;
  /** URL of the gateway's GET /metrics. */
  readonly metricsUrl: string;
  /** Output file of collect-garbage.mjs. */
  readonly memoryFile: string;
  readonly databaseUrl: string;
}

/**
 * Takes a sample.
 * @param since start of the load, by `performance.now()`
 */
export async function look(subject: Subject, since: number): Promise<Sample> {
  // Reads the delay first: garbage collection causes one.
  const metrics = await metricsOf(subject.metricsUrl);
  const figure = (name: string) => metrics.get(name) ?? Number.NaN;
  const [{ rss, heapUsed, external }, opened, database] = await Promise.all([
    memoryOf(subject),
    descriptorsOf(subject.pid),
    databaseOf(subject.databaseUrl),
  ]);
  return {
    seconds: (performance.now() - since) / 1_000,
    residentMb: rss / 1e6,
    heapMb: heapUsed / 1e6,
    externalMb: external / 1e6,
    descriptors: opened.length,
    sockets: opened.filter((target) => target.startsWith("socket:")).length,
    resources: figure("nodejs_active_resources_total"),
    loopDelayMs: figure("nodejs_eventloop_lag_p99_seconds") * 1_000,
    ...database,
  };
}

/**
 * Triggers garbage collection and returns memory use.
 * @throws Error when it does not happen
 */
async function memoryOf({ pid, memoryFile }: Subject): Promise<z.output<typeof memory>> {
  const written = async () => {
    const text = await readFile(memoryFile, "utf8").catch(() => "");
    // The file may be half written.
    return text.endsWith("}") ? memory.parse(JSON.parse(text)) : undefined;
  };
  const before = (await written())?.collections ?? 0;
  process.kill(pid, "SIGUSR2");
  const collected = async () => {
    const found = await written();
    return found && found.collections > before ? found : undefined;
  };
  return await until(collected, COLLECTING_MS).catch(() => {
    throw new Error("the gateway collects no garbage");
  });
}

/**
 * Prometheus text format (https://prometheus.io/docs/instrumenting/exposition_formats/), metrics without
 * labels.
 */
async function metricsOf(url: string): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(url, { headers: { connection: "close" } })).text();
  return new Map([...text.matchAll(/^(\w+) (\S+)$/gm)].map(([, name = "", value]) => [name, Number(value)]));
}

async function descriptorsOf(pid: number): Promise<string[]> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder);
  // A descriptor closed meanwhile has no target.
  const targets = await Promise.all(
    names.map((name) => readlink(`${folder}/${name}`).catch(() => undefined)),
  );
  return targets.filter((target) => target !== undefined);
}

async function databaseOf(url: string): Promise<{ databaseConnections: number; databaseMb: number }> {
  const { rows } = await query(
    url,
    `select pg_database_size(current_database())::float8 / 1e6 as megabytes,
            (select count(*)::int from pg_stat_activity where datname = current_database()
              and pid <> pg_backend_pid()) as connections`,
  );
  const [row] = rows;
  return { databaseConnections: Number(row?.connections), databaseMb: Number(row?.megabytes) };
}
