import { existsSync } from "node:fs";
import { randomUUID } from "node:crypto";
import path from "node:path";
import process from "node:process";
import type { Command } from "commander";
import { readConfig, readEnvironment, requireServeConfig } from "../config/config.ts";
import { collectSecrets } from "../config/secrets.ts";
import type { Gateway } from "../gateway.ts";
import { createLogger } from "../log.ts";
import { devCells } from "./dev-cells.ts";
import { CommandError } from "./command-error.ts";
import { openWorld } from "./open-dev-world.ts";
import { outputFor } from "./output.ts";
import { runUntilStopped } from "./serve.ts";
import { exitCodeOf, ignoreHangUp, onStop } from "./signals.ts";

/** A gateway in this process, or in a child process that restarts. */
type DevGateway = Omit<Gateway, "metricsAddress" | "reload"> & {
  readonly metricsAddress?: string | undefined;
};

interface DevOptions {
  watch?: boolean;
  demo: boolean;
  exitAfterDemo?: boolean;
  json?: boolean;
  cells?: boolean;
}

/** `dev`: runs everything on one machine. */
export function addDevCommand(program: Command): void {
  program
    .command("dev")
    .description("starts PostgreSQL, a local Solana chain and the gateway; a demo agent then buys one call")
    .option("--watch", "restart the gateway when its sources change, and reload the console's pages")
    .option("--no-demo", "start without the demo purchase")
    .option("--exit-after-demo", "exit after the purchase: 0 on success, 1 on failure")
    .option("--cells", "start three cells behind HAProxy instead of one gateway; each sells one call")
    .option("--json", "print JSON lines: each step, then the content of dev.json")
    .action(dev);
}

async function dev(options: DevOptions): Promise<void> {
  if (options.cells) return devCells(options);
  if (options.watch && !existsSync(new URL("../console", import.meta.url)))
    throw new CommandError("--watch needs a checkout of the sources: this is the npm package");
  // Exits at once during startup: there are no calls to finish yet.
  const endQuitting = onStop((signal) => process.exit(exitCodeOf(signal)));
  const report = options.json ? (step: string) => outputFor(true).record({ step }) : print;
  const environment: NodeJS.ProcessEnv = {
    HOST: "127.0.0.1",
    SANDBOX_ISOLATION: "auto",
    DRAIN_MS: "0",
    WEBHOOK_NETWORK: "any",
    ...readEnvironment(),
  };
  const { DATA_DIR, LOG_LEVEL, TOOLGATE_CONFIG, upstreams } = readConfig(environment);
  const dataDir = path.resolve(DATA_DIR);
  const world = await openWorld({
    dataDir,
    withInference: upstreams.length === 0,
    withApi: TOOLGATE_CONFIG === undefined,
    buildConsole: options.watch !== true,
    log: report,
  });
  let gateway: DevGateway | undefined;
  try {
    const config = requireServeConfig(readConfig({ ...environment, ...world.environment }));
    const instanceId = randomUUID();
    const secrets = collectSecrets(config);
    const log = createLogger(LOG_LEVEL, { instanceId, secrets, besideText: !options.json });
    ignoreHangUp(log);
    // Ports from the defaults may move to a free one; ports the user set may not.
    const movable = (["PORT", "GRPC_PORT"] as const).filter((name) => (environment[name] ?? "") === "");
    if (options.watch) {
      const { startWatchedGateway } = await import("../dev/watch/index.ts");
      const settings = { ...environment, ...world.environment };
      gateway = await startWatchedGateway({ dataDir, movable, environment: settings, log: report });
    } else {
      const { startGateway } = await import("../gateway.ts");
      gateway = await startGateway(config, log, {
        movable,
        devConsole: { wallet: world.walletSecretKey },
        instanceId,
      });
    }
    const ready = await world.ready(gateway);
    if (options.json) outputFor(true).record({ ...ready.devJson });
    else report(ready.summary);
    const buy = async () => {
      // The demo prints its requests itself.
      if (LOG_LEVEL === "info") log.setLevel("warn");
      await ready.buyOneCall().finally(() => log.setLevel(LOG_LEVEL));
    };
    if (options.exitAfterDemo) return await buy();
    if (options.demo) await buy().catch(reportDemoFailure);
    if (!options.json) {
      report(
        "\nTry it yourself (a paid call returns 402 with a quote unless the balance covers it):\n\n" +
          `${ready.curl}\n\nCtrl-C stops everything; the data stays in ${DATA_DIR}.`,
      );
    }
    const stopped = runUntilStopped({ close: () => closeAll(gateway, world) }, log);
    // Afterwards: without a listener in between a signal would be lost, or end the process at once.
    endQuitting();
    await stopped;
  } finally {
    await closeAll(gateway, world);
  }
}

/** The gateway stays useful when the demo purchase fails, for example because the account is blocked. */
function reportDemoFailure(error: unknown): void {
  process.stderr.write(`Demo purchase failed: ${error instanceof Error ? error.message : String(error)}\n`);
}

async function closeAll(gateway: DevGateway | undefined, world: { stop(): Promise<void> }): Promise<void> {
  await gateway?.close();
  await world.stop();
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
