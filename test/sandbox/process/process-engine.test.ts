import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AccountJob } from "../../../src/domain/tools/sandbox.ts";
import { ProcessEngine } from "../../../src/sandbox/process/process-engine.ts";
import { isolations } from "../isolations.ts";
import { descendants } from "../process-watch.ts";
import { silent } from "../silent-log.ts";
import { jobOf, NEVER } from "./bench.ts";
import { wheelOf } from "./wheel-file.ts";

const METADATA = "Metadata-Version: 2.1\nName: greeting\nVersion: 1.2.0\n";
const WHEEL = {
  "greeting/__init__.py": "def greet(name):\n    return f'hello {name}'\n",
  "greeting-1.2.0.dist-info/METADATA": METADATA,
  "greeting-1.2.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
  "greeting-1.2.0.dist-info/RECORD": "",
};

let wheelsDir: string;
let engine: ProcessEngine;
const isolation = isolations()[0]?.isolation ?? "process";
const outcomeOf = async (job: AccountJob) => await (await engine.start(job, NEVER)).done;

beforeAll(async () => {
  wheelsDir = await mkdtemp(path.join(os.tmpdir(), "toolgate-wheels-"));
  await writeFile(path.join(wheelsDir, "greeting-1.2.0-py3-none-any.whl"), wheelOf(WHEEL));
  engine = ProcessEngine.open({
    ...{ log: silent, isolation, wheelsDir, concurrency: 2, startMs: 120_000, waitMs: 120_000 },
    idle: { javascript: 2, python: 1 },
  });
});
afterAll(async () => {
  await engine.close();
  await rm(wheelsDir, { recursive: true });
});

describe("process engine", () => {
  it("imports the operator's wheels and reports them", async () => {
    const code = "import greeting\ngreeting.greet('you')";
    expect(await outcomeOf(jobOf(code, { language: "python" }))).toMatchObject({ result: "hello you" });
    expect((await engine.capabilities()).packages).toEqual(["greeting 1.2.0"]);
  });

  it("gives two programs different random numbers", async () => {
    const code = "import os, random, uuid\n[random.random(), os.urandom(8).hex(), str(uuid.uuid4())]";
    const outcomes = [];
    for (let run = 0; run < 2; run += 1)
      outcomes.push((await outcomeOf(jobOf(code, { language: "python" }))).result);
    const numbers = outcomes.flat();
    expect(new Set(numbers).size).toBe(6);
  });

  it("leaves no process or descriptor behind when closed", async () => {
    const look = async () => {
      return {
        processes: descendants(process.pid).length,
        descriptors: (await readdir("/proc/self/fd")).length,
      };
    };
    await engine.close();
    const before = await look();
    const another = ProcessEngine.open({
      log: silent,
      isolation,
      idle: { javascript: 1, python: 0 },
      waitMs: 120_000,
    });
    for (let run = 0; run < 10; run += 1) {
      const job = jobOf(run % 2 === 0 ? "for (;;);" : "export default 1");
      const { done } = await another.start(job, NEVER);
      if (run % 2 === 0) await another.cancel(job.runId);
      expect((await done).status).toBe(run % 2 === 0 ? "cancelled" : "succeeded");
    }
    await another.close();
    expect(await look()).toEqual(before);
  });

  it("starts nothing after it is closed", async () => {
    await expect(engine.start(jobOf("export default 1"), NEVER)).rejects.toMatchObject({
      code: "UNAVAILABLE",
    });
  });
});
