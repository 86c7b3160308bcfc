import { ToolgateError } from "../../domain/core/errors.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { AccountJob, SandboxOutcome } from "../../domain/tools/sandbox.ts";
import type { Tool } from "../../domain/tools/tool.ts";
import { builtIn, type Charge, type SandboxDeps } from "../built-in.ts";
import { afterSelfTest, defineTool, unavailableTool } from "../define-tool.ts";
import { executeParams } from "./params.ts";
import type { JsonObject, JsonValue } from "../../domain/core/json.ts";

const DESCRIPTION =
  "Runs Python or JavaScript code in a sandbox without network, files or other processes, and returns " +
  "its output and the value of its last expression (Python) or export default (JavaScript). The price " +
  "depends on timeout_ms; the time that ran is charged.";

/** Code and input, as JSON. */
const MAX_PARAMS_BYTES = 1024 * 1024;

/** Price settings of the configuration file, micro-USD. */
interface Prices {
  readonly microusd_per_second: MicroUsd;
  readonly minimum_microusd: MicroUsd;
}

export const sandboxExecute = builtIn({
  name: "sandbox_execute",
  docs: { price: "by `timeout_ms`", does: "runs Python or JavaScript" },
  prices: {
    microusd_per_second: {
      default: 100,
      description: "Price of a second, of the caller's time limit in a quote and of the time that ran",
    },
    minimum_microusd: { default: 1_000, description: "Least price of an execution" },
  },
  metered: true,
  make: ({ sandbox }, prices, charge) => (sandbox ? executeTool(sandbox, prices, charge) : withoutSandbox()),
});

function withoutSandbox(): Tool {
  return unavailableTool({
    name: "sandbox_execute",
    description:
      "Runs Python or JavaScript code in a sandbox without network and returns its output. Not " +
      "available on this installation: its sandbox is off.",
    scope: "compute:run",
    billable: true,
  });
}

/** Runs untrusted code (specification 2.1, 2.2). Failures of the code are charged, of the sandbox not. */
export function executeTool(deps: SandboxDeps, prices: Prices, charge: Charge = "used"): Tool {
  const { engine, runs, metrics } = deps;
  let running = 0;
  let waiting = 0;
  const onWaiting = (change: 1 | -1) => metrics.set("toolgate_sandbox_waiting", (waiting += change));
  const onRunning = (change: 1 | -1) => metrics.set("toolgate_sandbox_running", (running += change));
  const tool = defineTool({
    name: "sandbox_execute",
    description: DESCRIPTION,
    scope: "compute:run",
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
    params: executeParams,
    maxParamsBytes: MAX_PARAMS_BYTES,
    metered: charge === "used",
    price: ({ timeout_ms: timeoutMs }) => priceOf(timeoutMs, prices),
    run: async ({ language, code, stdin, timeout_ms: timeoutMs, run_id: name }, context) => {
      const { caller, runId, signal, progress, meter } = context;
      if (runId === undefined) throw new TypeError("an execution needs a ledger run");
      const { accountId, keyId } = caller;
      await runs.create({ runId, accountId, keyId, name, mostPerAccount: deps.concurrencyPerAccount });
      progress?.({ progress: 0, total: 2, message: "the code is queued" });
      const onChange = (change: 1 | -1) => {
        onRunning(change);
        if (change > 0) progress?.({ progress: 1, total: 2, message: "the code runs" });
      };
      const job = { accountId, runId, language, code, stdin, timeoutMs };
      const outcome = await runToEnd(deps, job, { onChange, onWaiting }, signal);
      if (charge === "used") meter?.(priceOf(Math.ceil(outcome.durationMs), prices));
      return resultOf(outcome, { runId: name ?? runId, language, engine: engine.name });
    },
  });
  return afterSelfTest(tool, deps.selfTestStatus);
}

/** The price of a time limit, known beforehand, and of the time that ran. */
function priceOf(timeoutMs: number, prices: Prices): MicroUsd {
  const price = (BigInt(timeoutMs) * prices.microusd_per_second + 999n) / 1000n;
  return price > prices.minimum_microusd ? price : prices.minimum_microusd;
}

/** Runs the job and records its end before returning. A cancel recorded first wins. */
async function runToEnd(
  deps: SandboxDeps,
  job: AccountJob,
  { onChange, onWaiting }: Record<"onChange" | "onWaiting", (change: 1 | -1) => void>,
  signal: AbortSignal,
): Promise<SandboxOutcome> {
  const { engine, runs, metrics } = deps;
  let outcome: SandboxOutcome;
  try {
    const from = performance.now();
    onWaiting(1);
    const { done } = await engine.start(job, signal).finally(() => onWaiting(-1));
    metrics.observe("toolgate_sandbox_start_seconds", (performance.now() - from) / 1_000);
    onChange(1);
    outcome = await done.finally(() => onChange(-1));
    metrics.observe("toolgate_sandbox_run_seconds", outcome.durationMs / 1_000);
  } catch (error) {
    const cancelled = error instanceof ToolgateError && error.code === "CANCELLED";
    if (!cancelled && !signal.aborted) metrics.count("toolgate_sandbox_failures_total");
    // If this fails too, the end of the ledger run also ends the execution.
    await runs.end(job.runId, cancelled ? "cancelled" : "failed").catch(() => {});
    // The abort reason is more specific.
    throw signal.aborted && signal.reason instanceof ToolgateError ? signal.reason : error;
  }
  const status = await runs.end(job.runId, outcome.status);
  metrics.count("toolgate_sandbox_executions_total", 1, { status });
  return status === outcome.status
    ? outcome
    : { ...outcome, status, result: null, error: null, exitCode: null };
}

/** The same limit as for requests: serialisers recurse. */
const MAX_DEPTH = 64;

export function resultOf(
  outcome: SandboxOutcome,
  { runId, language, engine }: { runId: string; language: string; engine: string },
): JsonObject {
  const { status, error } = outcome;
  return {
    run_id: runId,
    status,
    stdout: outcome.stdout,
    stderr: outcome.stderr,
    stdout_truncated: outcome.stdoutTruncated,
    stderr_truncated: outcome.stderrTruncated,
    result: isDeeper(outcome.result, MAX_DEPTH) ? null : outcome.result,
    error: error && { name: error.name, value: error.value, traceback: error.traceback },
    exit_code: outcome.exitCode,
    duration_ms: outcome.durationMs,
    cpu_ms: outcome.cpuMs,
    language,
    engine,
  };
}

function isDeeper(value: JsonValue, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1));
}
