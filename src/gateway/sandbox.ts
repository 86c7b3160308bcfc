import type { ServeConfig } from "../config/config.ts";
import type { SandboxEngine } from "../domain/tools/sandbox.ts";
import type { Log } from "../domain/core/log.ts";
import { requirePackages } from "../optional-packages.ts";
import type { Metrics } from "../app/operations/metrics.ts";
import type { Postgres } from "../postgres/index.ts";
import type { SandboxDeps } from "../tools/built-in.ts";
import type { Findings } from "../postgres/database/start-checks.ts";
import { SandboxMonitor } from "./sandbox-monitor.ts";

export type SandboxSettings = Pick<ServeConfig, "SANDBOX_ISOLATION" | "sandbox">;

/** Opens the configured engine. @param isServing whether calls are served meanwhile */
export type EngineOpener = (
  settings: SandboxSettings,
  log: Log,
  isServing: boolean,
) => Promise<SandboxEngine> | SandboxEngine;

/**
 * Opens the configured engine; loads only its code.
 * @param isServing whether calls are served meanwhile
 * @throws Error that names what this machine lacks and the remedy
 */
export async function openEngine(
  config: SandboxSettings,
  log: Log,
  isServing = false,
): Promise<SandboxEngine> {
  const { SANDBOX_ISOLATION: isolation, sandbox } = config;
  if (isolation === "off") throw new Error("the sandbox is off");
  if (sandbox.kubernetes !== undefined) {
    const { openKubernetesEngine } = await import("../sandbox/kubernetes/engine.ts");
    return openKubernetesEngine(sandbox.kubernetes, log);
  }
  requirePackages("sandbox_execute", ["deno", "pyodide"]);
  const { ProcessEngine } = await import("../sandbox/process/process-engine.ts");
  const {
    concurrency,
    queue,
    idle_workers: idle,
    memory_mb: memoryMb,
    cpu_seconds: cpuSeconds,
  } = sandbox.process;
  return ProcessEngine.open({
    log,
    isServing,
    // Defaults to the strongest isolation, or no sandbox.
    isolation: isolation ?? "required",
    ...(concurrency !== undefined && { concurrency }),
    queue,
    idle,
    limits: { memoryMb, cpuMs: cpuSeconds * 1000 },
    retireMs: sandbox.process.retire_after_seconds * 1000,
    wheelsDir: sandbox.process.python_wheels_dir,
  });
}

interface OpenSandbox {
  readonly deps: SandboxDeps;
  /** Starts the self-test in the background: sandbox_execute is UNAVAILABLE until it passes. */
  start(): void;
  close(): Promise<void>;
}

/**
 * Opens the sandbox; returns undefined when this machine cannot run it, and the tools are unavailable.
 * @param isServing whether calls of others are served during the self-test
 */
export async function openSandbox(
  config: ServeConfig,
  postgres: Postgres,
  metrics: Metrics,
  log: Log,
  isServing: boolean,
  open: EngineOpener = openEngine,
): Promise<OpenSandbox | undefined> {
  if (config.SANDBOX_ISOLATION === "off") return undefined;
  let engine: SandboxEngine;
  try {
    engine = await open(config, log, isServing);
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

/** Time limit of the self-test, ms: Python starts slowly on a busy machine. */
const PROOF_MS = 120_000;

/**
 * Checks the sandbox. With `required` it runs the full self-test, and failures are problems. Without a
 * setting it only checks that isolation is possible, and failures are warnings.
 */
export async function checkSandbox(config: ServeConfig, log: Log): Promise<Findings> {
  const { SANDBOX_ISOLATION: isolation, sandbox } = config;
  const elsewhere = sandbox.kubernetes !== undefined;
  if (isolation !== "required" && (isolation !== undefined || elsewhere))
    return { problems: [], warnings: [] };
  let engine: SandboxEngine | undefined;
  try {
    engine = await openEngine(config, log);
    if (isolation === "required") await prove(engine);
    else await engine.capabilities();
    return { problems: [], warnings: [] };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (isolation === "required") return { problems: [`SANDBOX_ISOLATION: ${reason}`], warnings: [] };
    const advice = "or set SANDBOX_ISOLATION to off, or, for code that you trust, to auto";
    return {
      problems: [],
      warnings: [`SANDBOX_ISOLATION: sandbox_execute is unavailable: ${reason}; ${advice}`],
    };
  } finally {
    await engine?.close();
  }
}

/** @throws Error that names the isolation that failed, or the timeout */
async function prove(engine: SandboxEngine): Promise<void> {
  const late = AbortSignal.timeout(PROOF_MS);
  try {
    await engine.health(late);
  } catch (error) {
    if (!late.aborted) throw error;
    const seconds = PROOF_MS / 1_000;
    throw new Error(
      `the self-test did not finish within ${seconds} s; reduce the load of this machine and try again`,
      { cause: error },
    );
  }
}
