import { pino } from "pino";
import { afterAll } from "vitest";
import type { SandboxEngine } from "../../../src/domain/tools/sandbox.ts";
import { ProcessEngine } from "../../../src/sandbox/process/process-engine.ts";
import { engineContract } from "../engine-contract.ts";
import { Cluster } from "./cluster.ts";
import { collectedImage } from "./image.ts";

/** What runs the pods' code: its interpreters are warm, where those of a pod start with it. */
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
    // The canary's pod has what the Dockerfile collects, and nothing of the project beside it.
    const image = await collectedImage();
    cluster.node.program = image.program;
    const end = async () => {
      await cluster.close();
      await image.remove();
    };
    return { engine, end };
  },
  // What the code sees is the image's program, which is the engine of one machine: its own tests ask all of that.
  { runsCode: false },
);

/** The check of a cluster starts both interpreters anew, which takes seconds: once is enough for two that are set up alike. */
function believed(engine: SandboxEngine): SandboxEngine {
  return Object.assign(engine, { health: async () => {} });
}
