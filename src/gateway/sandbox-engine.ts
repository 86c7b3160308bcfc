import type { ServeConfig } from "../config/config.ts";
import type { SandboxEngine } from "../domain/tools/sandbox.ts";
import type { Log } from "../domain/core/log.ts";
import { requirePackages } from "../optional-packages.ts";

/**
 * Opens the configured engine; loads only its code.
 * @param isServing whether calls are served meanwhile
 * @throws Error that names what this machine lacks and the remedy
 */
export async function openEngine(config: ServeConfig, log: Log, isServing = false): Promise<SandboxEngine> {
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
