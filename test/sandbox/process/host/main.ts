// A process with one running execution and one idle worker, to be killed by a test.
import process from "node:process";
import { ProcessEngine } from "../../../../src/sandbox/process/process-engine.ts";
import { silent } from "../../silent-log.ts";
import { jobOf, NEVER } from "../bench.ts";

const isolation = process.argv[2] === "required" ? "required" : "process";
const engine = ProcessEngine.open({
  log: silent,
  isolation,
  idle: { javascript: 1, python: 0 },
  startMs: 120_000,
  waitMs: 120_000,
});
const asked = Number(process.argv[3]);
for (let run = 0; run < asked; run += 1)
  await engine.start(jobOf("setInterval(() => {}, 1000);", { timeoutMs: 30_000 }), NEVER);
process.stdout.write("under way\n");
