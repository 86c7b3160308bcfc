import cluster, { type Worker as Forked } from "node:cluster";
import { randomUUID } from "node:crypto";
import process from "node:process";
import { z } from "zod";
import { collectSecrets, ConfigError, readEnvironment, readServeConfig } from "../config/config.ts";
import type { ServeConfig } from "../config/config.ts";
import { ToolgateError } from "../domain/core/errors.ts";
import { hostInUrls, listenOnPort } from "../gateway/listen.ts";
import { createLogger, type ProcessLog } from "../log.ts";
import { Channel, type Port } from "../workers/channel.ts";
import { sandboxOf, SharedSandbox } from "../workers/shared-sandbox.ts";
import { Workers, type WorkerProcess, WorkerStartError } from "../workers/workers.ts";
import { openControlSocket, reloadSettings } from "./control-socket.ts";
import { requirePreconditions, releaseStartMemory, reportReady } from "./ready.ts";
import { onHangUp, runUntilStopped } from "./signals.ts";

const readySchema = z.object({ baseUrl: z.string(), grpcAddress: z.string(), payTo: z.string() });
const reloadedSchema = z.looseObject({ ok: z.boolean() });

/** One of several processes that share the ports. The primary process starts, watches and ends it. */
export async function serveAsWorker(config: ServeConfig): Promise<void> {
  const instanceId = randomUUID();
  const log = createLogger(config.LOG_LEVEL, { instanceId, secrets: collectSecrets(config) });
  const channel = new Channel(portOfPrimary());
  // The primary replaces its workers.
  onHangUp(() => {});
  channel.handle("ping", async () => null);
  // The first one starts alone, so it speaks for all. The self-test of the sandbox is too long to repeat.
  const isFirst = cluster.worker?.id === 1;
  const checked = isFirst ? config : ({ ...config, SANDBOX_ISOLATION: "off" } as const);
  const [{ startGateway }, warnings] = await Promise.all([
    import("../gateway.ts"),
    requirePreconditions(checked, log),
  ]);
  if (isFirst) for (const warning of [...config.misspelt, ...warnings]) log.warn({}, warning);
  const gateway = await startGateway(config, log, { instanceId, sharedSandbox: sandboxOf(channel) });
  const close = async (isReplaced = false) => {
    await gateway.close(isReplaced);
    await channel.request("metrics", await gateway.metricValues()).catch(() => {});
  };
  channel.handle("metrics", () => gateway.metricValues());
  channel.handle("reload", () => reloadSettings(gateway, log));
  channel.handle("retire", async () => void close(true).then(() => process.exit(0)));
  const { baseUrl, grpcAddress, payTo } = gateway;
  await channel.request("ready", { baseUrl, grpcAddress, payTo });
  releaseStartMemory();
  await runUntilStopped({ close }, log);
}

/** Starts workers, which share the ports, one sandbox and one address for metrics, and keeps them running. */
export async function serveAsPrimary(
  config: ServeConfig,
  { workers: count, json = false }: { readonly workers: number; readonly json?: boolean },
): Promise<void> {
  const log = createLogger(config.LOG_LEVEL, { secrets: collectSecrets(config) });
  // All accept from one queue: a connection never waits in a process that has ended or stands still.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  // Keeps numbers that JSON does not have.
  cluster.setupPrimary({ serialization: "advanced" });
  const sandbox = new SharedSandbox(log);
  const metrics = await openMetrics(config, () => workers);
  const workers = new Workers({
    count,
    log,
    fork: () => processOf(cluster.fork()),
    onFork: (channel) => {
      sandbox.serve(channel);
      metrics?.serve(channel);
    },
    onEnd: (channel) => {
      void metrics?.leave(channel);
      sandbox.leave(channel).catch((error: unknown) => log.warn({ err: error }, "the sandbox did not close"));
    },
    onRestart: () => metrics?.countRestart(),
  });
  const stopped = runUntilStopped({ close: () => workers.stop() }, log);
  const ready = await started(workers);
  if (ready === undefined) return;
  onHangUp(() => void replace(workers, log));
  const { CONTROL_SOCKET: socket, METRICS_HOST } = config;
  const control = socket === undefined ? undefined : await openControlSocket(socket, () => reload(workers));
  const port = metrics && (await listenOnPort(metrics.server, config, "METRICS_PORT", false));
  const metricsAddress = port === undefined ? undefined : `${hostInUrls(METRICS_HOST)}:${port}`;
  reportReady({ ...ready, metricsAddress }, log, json);
  await stopped;
  control?.close();
}

/** Returns undefined when a worker did not start and said why. */
async function started(workers: Workers): Promise<z.output<typeof readySchema> | undefined> {
  try {
    return readySchema.parse(await workers.start());
  } catch (error) {
    if (!(error instanceof WorkerStartError)) throw error;
    process.exitCode = error.exitCode ?? 1;
    return undefined;
  }
}

async function openMetrics({ METRICS_PORT }: ServeConfig, workers: () => Workers) {
  if (METRICS_PORT === undefined) return undefined;
  const { WorkersMetrics } = await import("../workers/workers-metrics.ts");
  return new WorkersMetrics(workers);
}

/** Replaces the workers by ones with the settings and the program as they are now. Never throws. */
async function replace(workers: Workers, log: ProcessLog): Promise<void> {
  try {
    const next = readServeConfig(readEnvironment());
    log.setLevel(next.LOG_LEVEL);
    await workers.replace();
    log.info({}, "all workers replaced");
  } catch (error) {
    const problems = error instanceof ConfigError ? error.problems : [String(error)];
    log.error({ problems }, "workers not replaced: the ones that run stay");
  }
}

/** Reloads the settings in every worker. @returns the report of the first, or of one that failed */
async function reload(workers: Workers): Promise<object> {
  const reports = await Promise.all(
    workers.all.map(async ({ channel }) => reloadedSchema.parse(await channel.request("reload", null))),
  );
  const report = reports.find(({ ok }) => !ok) ?? reports[0];
  if (!report) throw new ToolgateError("UNAVAILABLE", "no worker runs; try again shortly");
  return report;
}

function portOfPrimary(): Port {
  return {
    send: (message, onSent) => process.send?.(message, undefined, undefined, onSent),
    onMessage: (receive) => process.on("message", receive),
    onGone: (act) => process.on("disconnect", act),
  };
}

function processOf(forked: Forked): WorkerProcess {
  return {
    pid: forked.process.pid,
    send: (message, onSent) => forked.isConnected() && forked.send(message, undefined, undefined, onSent),
    onMessage: (receive) => forked.on("message", receive),
    onGone: (act) => forked.on("disconnect", act),
    onExit: (act) => forked.on("exit", (code) => act(code)),
    kill: (signal) => void forked.process.kill(signal),
  };
}
