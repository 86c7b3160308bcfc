import path from "node:path";
import process from "node:process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import type { Command } from "commander";
import type { OpenDevWorld, DevReady } from "../dev/index.ts";
import type { DevWorldOptions } from "../dev/world.ts";
import { readConfig, readEnvironment, requireServeConfig, collectSecrets } from "../config/config.ts";
import { createLogger } from "../log.ts";
import type { Gateway } from "../gateway.ts";
import { CommandError, outputFor } from "./command.ts";
import { runUntilStopped, exitCodeOf, onStop, ignoreHangUp } from "./signals.ts";

/** Opens a development world. @throws CommandError for errors the user can fix */
async function openWorld(options: DevWorldOptions & { cell?: number }): Promise<OpenDevWorld> {
  const { DataDirInUseError, EmbeddedPostgresError, SchemaError, openDevWorld } =
    await import("../dev/index.ts");
  try {
    return await openDevWorld(options);
  } catch (error) {
    if (error instanceof DataDirInUseError || error instanceof EmbeddedPostgresError)
      throw new CommandError(error.message, { cause: error });
    if (error instanceof SchemaError) throw new CommandError(`${error.message}.`, { cause: error });
    throw error;
  }
}

const CELLS = [1, 2, 3] as const;

interface CellsOptions {
  demo: boolean;
  exitAfterDemo?: boolean;
  json?: boolean;
}

/**
 * `dev --cells`: three deployments on one local chain, each with its own PostgreSQL and treasury, and HAProxy
 * in front.
 * @throws CommandError without HAProxy
 */
async function devCells({ demo, exitAfterDemo = false, json = false }: CellsOptions): Promise<void> {
  const { findHaproxy, startCellRouter } = await import("../dev/haproxy.ts");
  const { freePort } = await import("../dev/free-port.ts");
  const haproxy = findHaproxy();
  if (haproxy === undefined)
    throw new CommandError("--cells needs HAProxy: install it (apt-get install haproxy)");
  const endQuitting = onStop((signal) => process.exit(exitCodeOf(signal)));
  const report = (step: string) =>
    json ? outputFor(true).record({ step }) : void process.stdout.write(`${step}\n`);
  const address = async () => `127.0.0.1:${await freePort()}`;
  const addressPair = async () => ({ http: await address(), grpc: await address() });
  const router = { ...(await addressPair()), cells: [] as { http: string; grpc: string }[] };
  const environment: NodeJS.ProcessEnv = {
    SANDBOX_ISOLATION: "off",
    DRAIN_MS: "0",
    NEW_ACCOUNTS_PER_DAY: "1000000",
    ...readEnvironment(),
    HOST: "127.0.0.1",
    PUBLIC_URL: `http://${router.http}`,
    TRUSTED_PROXY_HOPS: "1",
  };
  const { DATA_DIR, LOG_LEVEL, upstreams } = readConfig(environment);
  const started: { close(): Promise<unknown> }[] = [];
  const close = async () => {
    for (const part of started.splice(0).toReversed()) await part.close();
  };
  try {
    const cells: DevReady[] = [];
    let first: OpenDevWorld | undefined;
    for (const cell of CELLS) {
      const world = await openWorld({
        dataDir: path.resolve(DATA_DIR, "cells", String(cell)),
        rpcUrl: first?.environment["SOLANA_RPC_URLS"],
        cell,
        withInference: first === undefined && upstreams.length === 0,
        withApi: false,
        buildConsole: first === undefined,
        log: report,
      });
      started.push({ close: () => world.stop() });
      first ??= world;
      const own = await addressPair();
      router.cells.push(own);
      const config = requireServeConfig(
        readConfig({
          ...environment,
          ...first.environment,
          ...world.environment,
          CELL: String(cell),
          PORT: own.http.split(":")[1],
          GRPC_PORT: own.grpc.split(":")[1],
        }),
      );
      const instanceId = randomUUID();
      const level = LOG_LEVEL === "info" ? "warn" : LOG_LEVEL;
      const log = createLogger(level, { instanceId, secrets: collectSecrets(config), besideText: !json });
      const { startGateway } = await import("../gateway.ts");
      const gateway = await startGateway(config, log, {
        devConsole: { wallet: world.walletSecretKey },
        instanceId,
      });
      started.push(gateway);
      cells.push(await world.ready({ ...gateway, grpcAddress: router.grpc }));
    }
    const proxy = await startCellRouter(haproxy, router, path.resolve(DATA_DIR, "cells", "router"));
    started.push({ close: () => proxy.stop() });
    report(`Three cells are ready: ${environment["PUBLIC_URL"]}, gRPC ${router.grpc}`);
    for (const [at, ready] of cells.entries()) {
      report(`\nCell ${CELLS[at]}: treasury ${ready.devJson.pay_to}, key ${ready.devJson.api_key}`);
      if (demo || exitAfterDemo) await ready.buyOneCall();
    }
    if (exitAfterDemo) return;
    report(`\nCtrl-C stops everything; the data stays in ${path.join(DATA_DIR, "cells")}.`);
    const stopped = runUntilStopped({ close }, createLogger("warn", { secrets: [] }));
    endQuitting();
    await stopped;
  } finally {
    await close();
  }
}

/** A gateway in this process, or in a child process that restarts. */
type DevGateway = Omit<Gateway, "metricsAddress" | "metricValues" | "reload"> & {
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
    NEW_ACCOUNTS_PER_DAY: "1000000",
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
    if (!options.json && config.SANDBOX_ISOLATION !== "off")
      report("sandbox_execute becomes available after its self-test, in about 15 s.\n");
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
