import path from "node:path";
import process from "node:process";
import { randomUUID } from "node:crypto";
import { readConfig, readEnvironment, requireServeConfig } from "../config/config.ts";
import { collectSecrets } from "../config/secrets.ts";
import type { DevReady, OpenDevWorld } from "../dev/index.ts";
import { createLogger } from "../log.ts";
import { CommandError } from "./command-error.ts";
import { openWorld } from "./open-dev-world.ts";
import { outputFor } from "./output.ts";
import { runUntilStopped } from "./serve.ts";
import { exitCodeOf, onStop } from "./signals.ts";

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
export async function devCells({ demo, exitAfterDemo = false, json = false }: CellsOptions): Promise<void> {
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
