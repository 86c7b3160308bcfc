import type { ServeConfig } from "../config/config.ts";
import type { SandboxEngine } from "../domain/sandbox.ts";
import type { Logger } from "../log.ts";
import type { Findings } from "../postgres/start-checks.ts";
import { openEngine } from "./sandbox-engine.ts";

/** Longest that the whole proof may take, ms. */
const PROOF_MS = 60_000;

/**
 * Whether the sandbox will hold. Where it is `required` that is proven, and what stands in the way is a problem; where nothing is said it
 * is enough to look whether walls can be put up on this machine, and the tools stay announced where they cannot.
 */
export async function checkSandbox(config: ServeConfig, log: Logger): Promise<Findings> {
  const { SANDBOX_ISOLATION: isolation, sandbox } = config;
  const elsewhere = sandbox.kubernetes !== undefined;
  if (isolation !== "required" && (isolation !== undefined || elsewhere)) return { problems: [], warnings: [] };
  let engine: SandboxEngine | undefined;
  try {
    engine = await openEngine(config, log);
    if (isolation === "required") await engine.health(AbortSignal.timeout(PROOF_MS));
    else await engine.capabilities();
    return { problems: [], warnings: [] };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (isolation === "required") return { problems: [`SANDBOX_ISOLATION: ${reason}`], warnings: [] };
    const advice = "or set SANDBOX_ISOLATION to off, or, for code that you trust, to auto";
    return { problems: [], warnings: [`SANDBOX_ISOLATION: sandbox_execute is announced only: ${reason}; ${advice}`] };
  } finally {
    await engine?.close();
  }
}
