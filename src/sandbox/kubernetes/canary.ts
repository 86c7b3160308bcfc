import { randomBytes } from "node:crypto";
import { z } from "zod";
import {
  SANDBOX_LANGUAGES,
  type SandboxCapabilities,
  type SandboxOutcome,
} from "../../domain/tools/sandbox.ts";
import { Execution, type ExecutionParts } from "./execution.ts";
import { abortedError } from "./failures.ts";

/** Time to probe the addresses, ms. */
const CANARY_MS = 30_000;

/** Time until probing starts, s: both interpreters start several times before. */
const CANARY_START_SECONDS = 110;

/** The canary's result. */
const probeSchema = z.strictObject({
  reached: z.array(z.string()),
  languages: z.array(z.enum(SANDBOX_LANGUAGES)),
  walls: z.array(z.string()),
  packages: z.array(z.string()),
});

/** Runs the canary Job: self-test, then forbidden connections. @throws Error listing those that succeeded */
export async function runCanary(
  server: URL,
  parts: Omit<ExecutionParts, "command">,
  signal: AbortSignal,
): Promise<SandboxCapabilities> {
  const port = server.port === "" ? (server.protocol === "https:" ? "443" : "80") : server.port;
  const targets = [`${server.hostname}:${port}`, ...parts.section.denied_targets];
  const job = {
    runId: `run_${randomBytes(16).toString("hex")}`,
    language: "javascript" as const,
    code: JSON.stringify(targets),
    stdin: "",
    timeoutMs: CANARY_MS,
  };
  const { languages, walls, packages, reached } = probeSchema.parse(
    (await outcomeOf(job, parts, signal)).result,
  );
  if (reached.length > 0) {
    throw new Error(
      `a pod of the sandbox reached ${reached.join(", ")}: the cluster's network plugin does not ` +
        "enforce network policies; use one that does",
    );
  }
  const { runtime_class } = parts.section;
  const outer = [
    "pod",
    ...(runtime_class === null ? [] : [`runtime class ${runtime_class}`]),
    "network policy",
  ];
  return { languages, isolationLayers: [...outer, ...walls], packages };
}

async function outcomeOf(
  job: ConstructorParameters<typeof Execution>[0],
  parts: Omit<ExecutionParts, "command">,
  signal: AbortSignal,
): Promise<SandboxOutcome> {
  const start_timeout_seconds = Math.max(parts.section.start_timeout_seconds, CANARY_START_SECONDS);
  const section = { ...parts.section, start_timeout_seconds };
  const execution = new Execution(job, { ...parts, section, command: "probe" });
  const end = () => execution.abandon(abortedError());
  signal.addEventListener("abort", end, { once: true });
  try {
    return await execution.done;
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new Error(`the sandbox canary failed: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause: error,
    });
  } finally {
    signal.removeEventListener("abort", end);
    await execution.cleanedUp;
  }
}
