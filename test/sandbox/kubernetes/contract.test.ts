import { pino } from "pino";
import { afterAll } from "vitest";
import type { SandboxEngine } from "../../../src/domain/tools/sandbox.ts";
import { ProcessEngine } from "../../../src/sandbox/process/process-engine.ts";
import { engineContract } from "../engine-contract.ts";
import { Cluster } from "./cluster.ts";
import { collectedImage } from "./image.ts";

/** Runs the pods' code with warm interpreters. */
const warm = ProcessEngine.open({
  log: pino({ level: "silent" }),
  isolation: "process",
  idle: { javascript: 3, python: 0 },
  concurrency: 8,
});
afterAll(() => warm.close());

engineContract(
  "kubernetes",
  async ({ atOnce, waiting }) => {
    const cluster = await Cluster.start();
    cluster.node.warm = warm;
    const engine = await cluster.engine({ concurrency: atOnce, queue: waiting });
    if (atOnce === 1) return { engine: believed(engine), end: () => cluster.close() };
    // The canary pod contains only what the Dockerfile collects.
    const image = await collectedImage();
    cluster.node.program = image.program;
    const end = async () => {
      await cluster.close();
      await image.remove();
    };
    return { engine, end };
  },
  // The image runs the process engine, whose own tests cover the code's view.
  { runsCode: false },
);

/** A cluster check starts both interpreters, which is slow: equal clusters share one. */
function believed(engine: SandboxEngine): SandboxEngine {
  return Object.assign(engine, { health: async () => {} });
}
