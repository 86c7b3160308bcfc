import type { ServeConfig } from "../config/config.ts";
import type { SandboxEngine } from "../domain/tools/sandbox.ts";
import type { Log } from "../domain/core/log.ts";
import type { Findings } from "../postgres/database/start-checks.ts";
import { openEngine } from "./sandbox-engine.ts";

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
      {
        cause: error,
      },
    );
  }
}
