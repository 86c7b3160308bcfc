import path from "node:path";
import process from "node:process";
import type { Command } from "commander";
import { readConfig, readEnvironment, requireServeConfig } from "../config/config.ts";
import type { Gateway } from "../gateway.ts";
import { createLogger } from "../log.ts";
import { untilStopped } from "./serve.ts";

interface DevOptions {
  demo: boolean;
  exitAfterDemo?: boolean;
}

/** `dev`: everything on one machine, from nothing. */
export function addDevCommand(program: Command): void {
  program
    .command("dev")
    .description("starts PostgreSQL, a local Solana chain and the gateway, and lets a demo agent buy one call")
    .option("--no-demo", "start without the purchase")
    .option("--exit-after-demo", "exit 0 after the purchase, 1 with the failed step")
    .action(dev);
}

async function dev(options: DevOptions): Promise<void> {
  const { openDevWorld } = await import("../dev/index.ts");
  const environment: NodeJS.ProcessEnv = { HOST: "127.0.0.1", ...readEnvironment() };
  const { DATA_DIR, LOG_LEVEL, upstreams } = readConfig(environment);
  const world = await openDevWorld({ dataDir: path.resolve(DATA_DIR), withInference: upstreams.length === 0, tell });
  let gateway: Gateway | undefined;
  try {
    const config = requireServeConfig(readConfig({ ...environment, ...world.environment }));
    const log = createLogger(LOG_LEVEL);
    const { startGateway } = await import("../gateway.ts");
    // A busy machine must not keep a newcomer out: only a port that was asked for has to be that one.
    const movable = (["PORT", "GRPC_PORT"] as const).filter((name) => (environment[name] ?? "") === "");
    gateway = await startGateway(config, log, movable);
    const ready = await world.ready(gateway);
    tell(ready.summary);
    if (options.demo) await ready.buyOneCall();
    if (options.exitAfterDemo) return;
    tell(
      `\nTry it yourself (a paid call answers 402 with a quote):\n\n${ready.curl}\n\nCtrl-C stops everything; the data stays in ${DATA_DIR}.`,
    );
    await untilStopped({ ...gateway, close: () => closeAll(gateway, world) }, log);
  } finally {
    await closeAll(gateway, world);
  }
}

async function closeAll(gateway: Gateway | undefined, world: { stop(): Promise<void> }): Promise<void> {
  await gateway?.close();
  await world.stop();
}

function tell(line: string): void {
  process.stdout.write(`${line}\n`);
}
