import { stat } from "node:fs/promises";
import process from "node:process";
import { createLogger } from "../../../log.ts";
import { ProcessEngine } from "../../process/process-engine.ts";
import { readJob } from "./job-file.ts";
import { serveJob } from "./serve-job.ts";

/** Time limit for starting an interpreter, ms. The Job's deadline is later. */
const START_MS = 120_000;

/** Program of the sandbox image: `main.ts <wheels folder> run|probe <job folder>`. Writes to the log. */
async function main([wheels = "", command = "", folder = ""]: readonly string[]): Promise<void> {
  const { job, nonce, limits } = await readJob(folder);
  const offered = (await stat(wheels).catch(() => undefined)) !== undefined;
  const engine = ProcessEngine.open({
    log: createLogger("error", { secrets: [] }),
    // The pod isolates; namespaces are not available inside it.
    isolation: "process",
    idle: { javascript: 0, python: 0 },
    concurrency: 1,
    queue: 0,
    limits,
    wheelsDir: offered ? wheels : undefined,
    startMs: START_MS,
    waitMs: START_MS,
  });
  // Sends the output so far within the grace period.
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
// Open handles must not keep the pod alive.
process.exit(0);
