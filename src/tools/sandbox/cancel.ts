import { setTimeout as sleep } from "node:timers/promises";
import type { SandboxRuns, SandboxRunState } from "../../app/calls/sandbox-runs.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { Tool } from "../../domain/tools/tool.ts";
import { builtIn, type SandboxDeps } from "../built-in.ts";
import { defineTool, unavailableTool } from "../define-tool.ts";
import { cancelParams } from "./params.ts";

/** ms */
const [WAIT_MS, LOOK_MS] = [3_000, 50];

export const sandboxCancel = builtIn({
  name: "sandbox_cancel",
  docs: { price: "free", does: "ends an execution" },
  make: ({ sandbox }) => (sandbox ? cancelTool(sandbox) : withoutSandbox()),
});

function withoutSandbox(): Tool {
  return unavailableTool({
    name: "sandbox_cancel",
    description:
      "Ends an execution of sandbox_execute that is running. Not available on this installation: its " +
      "sandbox is off.",
    scope: "compute:run",
    billable: false,
  });
}

/** Cancels an execution of the caller's account on any instance (specification 2.1). Idempotent. */
export function cancelTool({ engine, runs }: SandboxDeps): Tool {
  return defineTool({
    name: "sandbox_cancel",
    description:
      "Ends a running or queued execution of sandbox_execute by the run_id that you gave it or its " +
      "run_… from GET /runs. Free; code that had started stays charged, queued code costs nothing.",
    scope: "compute:run",
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    params: cancelParams,
    price: undefined,
    run: async ({ run_id: name }, { caller, signal }) => {
      const found = await runs.find(caller.accountId, name);
      if (!found) {
        throw new ToolgateError(
          "NOT_FOUND",
          "params.run_id: execution not found; send the run_id that you gave it, or its run_… from GET /runs",
        );
      }
      const accepted = found.status === "running" && (await runs.requestCancel(found.runId));
      // The owning instance polls the request anyway; a local execution ends at once.
      if (accepted) await engine.cancel(found.runId).catch(() => false);
      const { status } =
        found.status === "running" ? await waitForEnd(runs, caller.accountId, found, signal) : found;
      return { run_id: name, cancelled: accepted || status === "cancelled", status };
    },
  });
}

/** Polls until the execution ends or the time limit passes. */
async function waitForEnd(
  runs: SandboxRuns,
  accountId: string,
  found: SandboxRunState,
  signal: AbortSignal,
): Promise<SandboxRunState> {
  const since = performance.now();
  for (;;) {
    // By run id: the name may meanwhile belong to another run.
    const now = (await runs.find(accountId, found.runId)) ?? found;
    if (now.status !== "running" || signal.aborted || performance.now() - since > WAIT_MS) return now;
    await sleep(LOOK_MS, undefined, { signal }).catch(() => {});
  }
}
