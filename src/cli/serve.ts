import cluster from "node:cluster";
import { randomUUID } from "node:crypto";
import os from "node:os";
import process from "node:process";
import { type Command, InvalidArgumentError } from "commander";
import {
  readConfig,
  readEnvironment,
  readServeConfig,
  redactedConfig,
  collectSecrets,
  type ServeConfig,
} from "../config/config.ts";
import { createLogger } from "../log.ts";
import { outputFor } from "./command.ts";
import { openControlSocket, reloadSettings, type ReloadReport } from "./control-socket.ts";
import { requirePreconditions, releaseStartMemory, reportReady } from "./ready.ts";
import { onHangUp, runUntilStopped } from "./signals.ts";

interface ServeOptions {
  readonly printConfig?: boolean;
  readonly json?: boolean;
  readonly workers: number;
}

const MAX_WORKERS = 64;

/** `serve`: runs the gateway in production. */
export function addServeCommand(program: Command): void {
  program
    .command("serve")
    .description("serves in production; needs DATABASE_URL, SOLANA_RPC_URLS and TREASURY_OWNER")
    .option("--print-config", "print the settings, secrets redacted, and exit")
    .option("--json", "print JSON")
    .option("--workers <n>", "processes that share the ports: a number, or auto: one per core", countOf, 1)
    .action(async (options: ServeOptions) => {
      const environment = readEnvironment();
      if (options.printConfig) {
        const shown = readConfig(environment);
        for (const warning of shown.misspelt) process.stderr.write(`warning: ${warning}\n`);
        outputFor(options.json ?? false).record(redactedConfig(shown));
        return;
      }
      const config = readServeConfig(environment);
      if (options.workers === 1) return await serveAlone(config, options);
      const { serveAsPrimary, serveAsWorker } = await import("./serve-workers.ts");
      await (cluster.isWorker ? serveAsWorker(config) : serveAsPrimary(config, options));
    });
}

function countOf(text: string): number {
  if (text === "auto") return Math.min(os.availableParallelism(), MAX_WORKERS);
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= MAX_WORKERS) return count;
  throw new InvalidArgumentError(`Send auto or a number from 1 to ${MAX_WORKERS}.`);
}

async function serveAlone(config: ServeConfig, { json = false }: ServeOptions): Promise<void> {
  const instanceId = randomUUID();
  const running = Promise.withResolvers<() => Promise<ReloadReport>>();
  const log = createLogger(config.LOG_LEVEL, { instanceId, secrets: collectSecrets(config) });
  // A signal during the start reloads after it.
  onHangUp(() => void running.promise.then((reload) => reload()));
  const [warnings, { startGateway }] = await Promise.all([
    requirePreconditions(config, log),
    import("../gateway.ts"),
  ]);
  for (const warning of [...config.misspelt, ...warnings]) log.warn({}, warning);
  const gateway = await startGateway(config, log, { instanceId });
  const reload = () => reloadSettings(gateway, log);
  running.resolve(reload);
  const control = config.CONTROL_SOCKET && (await openControlSocket(config.CONTROL_SOCKET, reload));
  reportReady(gateway, log, json);
  releaseStartMemory();
  await runUntilStopped(gateway, log, () => control && control.close());
}
