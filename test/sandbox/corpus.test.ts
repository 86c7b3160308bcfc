import { readdir } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SandboxOutcome } from "../../src/domain/tools/sandbox.ts";
import { ProcessEngine } from "../../src/sandbox/process/process-engine.ts";
import { job } from "./contract-code.ts";
import { startCanaryHost, type CanaryHost } from "./corpus/canary-host.ts";
import type { Case } from "./corpus/case.ts";
import { CASES, codeOf, PAIRS } from "./corpus/cases.ts";
import { DEFAULT_TIMEOUT_MS, judge } from "./corpus/judge.ts";
import { programOf, shareOf } from "./corpus/run-cases.ts";
import { EVERYTHING, isolations } from "./isolations.ts";
import { ProcessWatch } from "./process-watch.ts";
import { outcomeOf } from "./engine-contract.ts";
import { silent } from "./silent-log.ts";

/** The others start a process each, and run in `npm run corpus`. */
const isWanted = (one: Case) =>
  EVERYTHING || one.always === true || one.sharp === true || one.shares === true;
/** Why an attempt is skipped without bubblewrap. */
const NAMESPACES =
  "the isolation `process` does not promise this: docs/guides/sandbox.md, “What it does not stop”";

const LIMITS = { memoryMb: { javascript: 128, python: 384 }, cpuMs: 6_000, outputBytes: 65_536 };
/** MiB for the programs' pages and for what a bomb allocates between two polls. */
const SLACK_MB = 256;

/** Few enough for the CPU limit on a busy machine. */
const SHARING = 8;

function partsOf(shared: readonly Case[]) {
  const count = Math.ceil(shared.length / SHARING);
  return Array.from({ length: count }, (_, part) => ({
    part: part + 1,
    snippets: shared.slice(part * SHARING, (part + 1) * SHARING),
  }));
}

describe.each(isolations())("corpus of attacks, isolation $isolation", ({ isolation, whole }) => {
  const wanted = CASES.filter((one) => isWanted(one) && (whole || one.sharp === true));
  const alone = wanted.filter((one) => one.shares !== true);
  const shared = wanted.filter((one) => one.shares === true);
  let host: CanaryHost;
  let engine: ProcessEngine;
  let watch: ProcessWatch;
  beforeAll(async () => {
    host = await startCanaryHost();
    watch = new ProcessWatch();
    engine = ProcessEngine.open({
      ...{ log: silent, isolation, limits: LIMITS, concurrency: 3, queue: 1_000, waitMs: 600_000 },
      idle: { javascript: 2, python: 1 },
    });
  });
  afterAll(async () => {
    await engine.close();
    await host.end();
  });

  const run = async (one: Case): Promise<SandboxOutcome> => {
    const code = await codeOf(one, host.values);
    return outcomeOf(engine, job(code, one.language, { timeoutMs: one.timeoutMs ?? DEFAULT_TIMEOUT_MS }));
  };

  it.concurrent.for(alone)("$language/$name attacks $attacks", async (one) => {
    expect(judge(one, await run(one), host, LIMITS)).toEqual([]);
  });

  describe.each(partsOf(shared))("Python snippets in one interpreter, part $part", ({ snippets }) => {
    let outcome: SandboxOutcome;
    beforeAll(async () => {
      const program = await programOf(snippets, host.values);
      outcome = await outcomeOf(engine, job(program, "python", { timeoutMs: DEFAULT_TIMEOUT_MS }));
    });

    it.for(snippets)("$name attacks $attacks", (one, { skip }) => {
      skip(one.namespaces === true && isolation === "process", NAMESPACES);
      expect(judge(one, shareOf(one, outcome), host, LIMITS)).toEqual([]);
    });
  });

  it.concurrent.for(EVERYTHING && whole ? PAIRS : PAIRS.slice(0, 1))(
    "keeps nothing one run leaves for the next ($plants.language)",
    async ({ plants, looks }) => {
      expect(judge(plants, await run(plants), host, LIMITS)).toEqual([]);
      expect(judge(looks, await run(looks), host, LIMITS)).toEqual([]);
    },
  );

  it("leaves no file, connection or process on the host", async () => {
    await engine.close();
    expect(await watch.end()).toEqual([]);
    expect(await host.traces()).toEqual([]);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(watch.count).toBeGreaterThan(0);
    expect(watch.mostResidentMb).toBeLessThan(LIMITS.memoryMb.python + SLACK_MB);
  });
});

describe("corpus of attacks", () => {
  it("runs every snippet", async () => {
    const folder = path.join(import.meta.dirname, "corpus");
    const files = await Promise.all(
      ["javascript", "python"].map((language) => readdir(path.join(folder, language))),
    );
    const named = [...CASES, ...PAIRS.flatMap(({ plants, looks }) => [plants, looks])]
      .map(({ name }) => name)
      .sort();
    expect(
      files
        .flat()
        .map((file) => path.parse(file).name)
        .sort(),
    ).toEqual(named);
    expect(named.length).toBeGreaterThanOrEqual(64);
  });
});
