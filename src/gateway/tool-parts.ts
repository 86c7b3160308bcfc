import os from "node:os";
import type { Metrics } from "../app/operations/metrics.ts";
import { UnpaidWork } from "../app/calls/unpaid-work.ts";
import type { ServeConfig } from "../config/config.ts";
import type { Log } from "../domain/core/log.ts";
import type { Postgres } from "../postgres/index.ts";
import type { SandboxDeps } from "../tools/sandbox/deps.ts";
import { ConfigFollower } from "./config-follower.ts";
import { Reloader } from "./reload.ts";
import { openSandbox } from "./sandbox.ts";
import { startVersion } from "./start-version.ts";
import { ToolOpener } from "./tool-version.ts";

/** The tools and what they share. */
export interface ToolParts {
  /** The catalogue, which follows the configuration in force. */
  readonly configuration: ConfigFollower;
  /** Changes the configuration while calls run. */
  readonly reloader: Reloader;
  readonly sandbox: SandboxDeps | undefined;
  /** Limits the work for calls that are not charged. */
  readonly unpaidWork: UnpaidWork;
  /** Starts the background jobs after the servers listen. */
  start(): void;
  /** Closes connections and ends processes. */
  close(): Promise<void>;
}

/**
 * Opens the tools of the configuration in force.
 * @throws ConfigError when this instance cannot use it; closes the database first
 */
export async function openToolParts(
  config: ServeConfig,
  postgres: Postgres,
  metrics: Metrics,
  log: Log,
): Promise<ToolParts> {
  const { configVersions: versions } = postgres;
  const actor = `instance:${os.hostname()}`;
  const first = await startVersion(config, { versions, actor, log }).catch(async (error: unknown) => {
    await postgres.close();
    throw error;
  });
  const sandbox = await openSandbox({ ...config, sandbox: first.resolved.sandbox }, postgres, metrics, log);
  const balance = (accountId: string) => postgres.ledger.balance(accountId);
  const opener = new ToolOpener({ balance, sandbox: sandbox?.deps, metrics, log });
  const configuration = await ConfigFollower.open(first, { versions, opener, config, metrics, log });
  return {
    configuration,
    reloader: new Reloader(config, first.resolved.sandbox, { configuration, versions, actor, log }),
    sandbox: sandbox?.deps,
    unpaidWork: new UnpaidWork(postgres.unpaidWork, metrics),
    start: () => {
      configuration.start();
      sandbox?.start();
    },
    close: async () => {
      await Promise.all([configuration.close(), sandbox?.close()]);
    },
  };
}
