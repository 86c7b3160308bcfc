import { expect, it } from "vitest";
import type { SandboxEngine } from "../../src/domain/tools/sandbox.ts";
import { ProcessEngine } from "../../src/sandbox/process/process-engine.ts";
import { sandboxSchema } from "../../src/sandbox/config.ts";
import { SharedSandbox, sandboxOf } from "../../src/workers/shared-sandbox.ts";
import { engineContract } from "../sandbox/engine-contract.ts";
import { isolations } from "../sandbox/isolations.ts";
import { silent } from "../sandbox/silent-log.ts";
import { channels } from "./ports.ts";

/** The sandbox of the primary process, as a worker sees it. */

const settings = { SANDBOX_ISOLATION: undefined, sandbox: sandboxSchema.parse(undefined) };

function openShared(engine: SandboxEngine) {
  const shared = new SharedSandbox(silent, () => engine);
  const { primary, worker, end } = channels();
  shared.serve(primary);
  const leave = () => {
    end();
    return shared.leave(primary);
  };
  return { remote: sandboxOf(worker)(settings, silent, true), leave };
}

for (const { isolation } of isolations().slice(0, 1)) {
  engineContract(
    "shared by workers",
    async ({ atOnce, waiting }) => {
      const { remote, leave } = openShared(
        ProcessEngine.open({
          ...{ log: silent, isolation, concurrency: atOnce, queue: waiting },
          ...{ waitMs: 120_000, startMs: 120_000, idle: { javascript: 1, python: 0 } },
        }),
      );
      return { engine: await remote, end: leave };
    },
    { runsCode: false, brief: ["python"] },
  );
}

it("is tested once for all workers, again after a failure, and closed after the last", async () => {
  const seen: string[] = [];
  let isHealthy = false;
  const engine = {
    health: async () => {
      seen.push("health");
      if (!isHealthy) throw new Error("no namespace");
    },
    close: async () => void seen.push("close"),
  } as Partial<SandboxEngine> as SandboxEngine;
  const shared = new SharedSandbox(silent, () => engine);
  const open = async () => {
    const { primary, worker, end } = channels();
    shared.serve(primary);
    return { engine: await sandboxOf(worker)(settings, silent, true), primary, end };
  };
  const [one, two] = [await open(), await open()];
  const signal = new AbortController().signal;
  await expect(Promise.all([one.engine.health(signal), two.engine.health(signal)])).rejects.toThrow(
    "no namespace",
  );
  isHealthy = true;
  await Promise.all([one.engine.health(signal), two.engine.health(signal)]);
  expect(seen).toEqual(["health", "health"]);
  await shared.leave(one.primary);
  expect(seen).not.toContain("close");
  await shared.leave(two.primary);
  expect(seen.at(-1)).toBe("close");
});
