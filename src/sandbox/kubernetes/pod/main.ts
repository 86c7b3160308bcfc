import { stat } from "node:fs/promises";
import process from "node:process";
import { createLogger } from "../../../log.ts";
import { ProcessEngine } from "../../process/process-engine.ts";
import { readJob } from "./job-file.ts";
import { serveJob } from "./serve-job.ts";

/** How long an interpreter may take to be ready, ms; the cluster's own deadline comes later. */
const START_MS = 120_000;

/**
 * The program of the sandbox's image: `main.ts <wheels folder> run|probe <job folder>`. It runs one job in a process of its own, as the engine
 * on one machine does, so that inside the pod the code still has no permission at all, and tells the result on the log.
 */
async function main([wheels = "", command = "", folder = ""]: readonly string[]): Promise<void> {
  const { job, nonce, limits } = await readJob(folder);
  const offered = (await stat(wheels).catch(() => undefined)) !== undefined;
  const engine = ProcessEngine.open({
    log: createLogger("error", { secrets: [] }),
    // The pod is the outer wall: there are no namespaces to be had inside of it.
    isolation: "process",
    idle: { javascript: 0, python: 0 },
    concurrency: 1,
    queue: 0,
    limits,
    wheelsDir: offered ? wheels : undefined,
    startMs: START_MS,
    waitMs: START_MS,
  });
  // The cluster ends a pod with this signal; what was said so far is told in the seconds that it leaves.
  process.once("SIGTERM", () => void engine.cancel(job.runId));
  await serveJob(engine, { job, nonce, command }, say);
  await engine.close();
}

async function say(line: string): Promise<void> {
  await new Promise<void>((resolve) => {
    process.stdout.write(line, () => resolve());
  });
}

await main(process.argv.slice(2));
// What is left open must not keep the pod.
process.exit(0);
