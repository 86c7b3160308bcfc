import os from "node:os";
import process from "node:process";
import { randomUUID } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Command } from "commander";
import type { Log } from "../domain/core/log.ts";
import {
  ConfigError,
  readConfig,
  readEnvironment,
  readServeConfig,
  redactedConfig,
  collectSecrets,
} from "../config/config.ts";
import type { Gateway } from "../gateway.ts";
import { createLogger } from "../log.ts";
import { outputFor } from "./command.ts";
import { openControlSocket, reloadSettings, type ReloadReport } from "./control-socket.ts";

const STOPS = ["SIGTERM", "SIGINT"] as const;

/** Calls `act` on every SIGTERM and SIGINT. @returns a function that removes the listeners */
export function onStop(act: (signal: (typeof STOPS)[number]) => void): () => void {
  for (const name of STOPS) process.on(name, act);
  return () => {
    for (const name of STOPS) process.off(name, act);
  };
}

/** Calls `act` on every SIGHUP. */
function onHangUp(act: () => void): void {
  process.on("SIGHUP", act);
}

/** Ignores SIGHUP, so that closing a terminal does not abort calls. */
export function ignoreHangUp(log: Log): void {
  process.on("SIGHUP", () =>
    log.info({ signal: "SIGHUP" }, "signal ignored: settings are read at start only"),
  );
}

/** Returns the shell's exit code for a process that a signal ended. */
export function exitCodeOf(signal: (typeof STOPS)[number]): number {
  return 128 + os.constants.signals[signal];
}

/** `serve`: runs the gateway in production. */
export function addServeCommand(program: Command): void {
  program
    .command("serve")
    .description("serves in production; needs DATABASE_URL, SOLANA_RPC_URLS and TREASURY_OWNER")
    .option("--print-config", "print the settings, secrets redacted, and exit")
    .option("--json", "print JSON")
    .action(async (options: { printConfig?: boolean; json?: boolean }) => {
      const environment = readEnvironment();
      if (options.printConfig) {
        const shown = readConfig(environment);
        for (const warning of shown.misspelt) process.stderr.write(`warning: ${warning}\n`);
        outputFor(options.json ?? false).record(redactedConfig(shown));
        return;
      }
      const config = readServeConfig(environment);
      const instanceId = randomUUID();
      const running = Promise.withResolvers<() => Promise<ReloadReport>>();
      const log = createLogger(config.LOG_LEVEL, { instanceId, secrets: collectSecrets(config) });
      // A signal during the start reloads after it.
      onHangUp(() => void running.promise.then((reload) => reload()));
      const [{ checkPreconditions }, { startGateway }] = await Promise.all([
        import("../start-checks.ts"),
        import("../gateway.ts"),
      ]);
      const { problems, warnings } = await checkPreconditions(config, log);
      if (problems.length > 0) throw new ConfigError(problems);
      for (const warning of [...config.misspelt, ...warnings]) log.warn({}, warning);
      const gateway = await startGateway(config, log, { instanceId });
      const { baseUrl, grpcAddress, metricsAddress, payTo } = gateway;
      const reload = () => reloadSettings(gateway, log);
      running.resolve(reload);
      const control = config.CONTROL_SOCKET && (await openControlSocket(config.CONTROL_SOCKET, reload));
      log.info({ baseUrl, grpcAddress, metricsAddress, payTo }, "ready");
      if (options.json) {
        outputFor(true).record({
          base_url: baseUrl,
          grpc_address: grpcAddress,
          ...(metricsAddress !== undefined && { metrics_address: metricsAddress }),
          pay_to: payTo,
        });
      }
      releaseStartMemory();
      await runUntilStopped(gateway, log, () => control && control.close());
    });
}

/** Returns what the start used (a third of the process) to the system; V8 by itself keeps it for hours. */
function releaseStartMemory(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc({ type: 'major', flavor: 'last-resort' })");
}

/**
 * A second signal within this time is a copy (ms): npm forwards each signal to a process group that already
 * received it.
 */
const DUPLICATE_SIGNAL_MS = 1_000;

/** Serves until SIGTERM or SIGINT, then closes gracefully; a second signal exits at once. */
export async function runUntilStopped(
  gateway: Pick<Gateway, "close">,
  log: Log,
  onStopping = () => {},
): Promise<void> {
  const signal = await new Promise(onStop);
  onStopping();
  const since = performance.now();
  onStop(() => {
    if (performance.now() - since > DUPLICATE_SIGNAL_MS) process.exit(1);
  });
  log.info({ signal }, "stopping: finishing running calls");
  await gateway.close();
  log.info({}, "stopped");
  process.exit(0);
}
