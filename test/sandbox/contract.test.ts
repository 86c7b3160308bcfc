import { ProcessEngine } from "../../src/sandbox/process/process-engine.ts";
import { engineContract } from "./engine-contract.ts";
import { isolations } from "./isolations.ts";
import { silent } from "./silent-log.ts";

const LIMITS = { memoryMb: { javascript: 128, python: 384 }, outputBytes: 65_536 };

for (const { isolation, whole } of isolations()) {
  engineContract(
    `of processes, isolation ${isolation}`,
    async ({ atOnce, waiting }) => ({
      engine: ProcessEngine.open({
        ...{ log: silent, isolation, limits: LIMITS, concurrency: atOnce, queue: waiting },
        ...{ waitMs: 120_000, startMs: 120_000, idle: { javascript: 1, python: 0 } },
      }),
    }),
    { runsCode: whole, brief: ["python"] },
  );
}
