import type { Metrics } from "../app/operations/metrics.ts";
import type { ServeConfig } from "../config/config.ts";
import type { SandboxEngine } from "../domain/tools/sandbox.ts";
import type { Log } from "../domain/core/log.ts";
import type { Postgres } from "../postgres/index.ts";
import type { SandboxDeps } from "../tools/sandbox/deps.ts";
import { openEngine } from "./sandbox-engine.ts";
import { SandboxMonitor } from "./sandbox-monitor.ts";

/** The sandbox for the tools. */
export interface OpenSandbox {
  readonly deps: SandboxDeps;
  /** Starts the self-test in the background: sandbox_execute is UNAVAILABLE until it passes. */
  start(): void;
  /** Ends all executions. */
  close(): Promise<void>;
}

/** Opens the sandbox; returns undefined when this machine cannot run it, and the tools are unavailable. */
export async function openSandbox(
  config: ServeConfig,
  postgres: Postgres,
  metrics: Metrics,
  log: Log,
): Promise<OpenSandbox | undefined> {
  if (config.SANDBOX_ISOLATION === "off") return undefined;
  let engine: SandboxEngine;
  try {
    engine = await openEngine(config, log, true);
  } catch (error) {
    log.warn({ err: error }, "no sandbox on this machine: sandbox_execute is unavailable");
    return undefined;
  }
  const runs = postgres.sandboxRuns;
  const watch = new SandboxMonitor({ engine, metrics, log });
  const deaf = runs.onCancel((runId) => {
    engine
      .cancel(runId)
      .catch((error: unknown) =>
        log.warn({ err: error, runId }, "cancelling an execution failed; will retry"),
      );
  });
  return {
    deps: {
      engine,
      runs,
      selfTestStatus: () => watch.proof,
      concurrencyPerAccount: config.sandbox.concurrency_per_account,
      metrics,
    },
    start: () => watch.start(),
    close: async () => {
      deaf();
      await Promise.all([watch.stop(), engine.close()]);
    },
  };
}
