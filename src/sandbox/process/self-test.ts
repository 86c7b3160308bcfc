import { randomBytes } from "node:crypto";
import { createServer } from "node:net";
import type { SandboxJob, SandboxLanguage, SandboxOutcome } from "../../domain/tools/sandbox.ts";
import type { Enclosure, LaunchLine } from "./launch-line.ts";
import type { ProcessLimits } from "./limits.ts";
import { diesWithParent, kernelProblem } from "./host-probes.ts";
import type { Probe } from "./probes.ts";
import type { Worker } from "./worker.ts";

/** Dependencies: the same functions that start executions. */
export interface SelfTest {
  readonly isRoot: boolean;
  readonly enclosure: Enclosure;
  readonly limits: ProcessLimits;
  /** Pyodide's folder as a worker sees it. */
  readonly pyodide: string;
  readonly startWorker: (language: SandboxLanguage) => Promise<Worker>;
  readonly run: (worker: Worker, job: SandboxJob, limits: ProcessLimits) => Promise<SandboxOutcome>;
  /** Launch line of a JavaScript worker. */
  readonly line: LaunchLine;
  readonly signal: AbortSignal;
  readonly probes: readonly Probe[];
  readonly parentDeathTimeoutMs?: number;
  /** One check after the other takes longer and leaves the processors to others. Default: no. */
  readonly oneByOne?: boolean;
}

class SelfTestError extends Error {
  override readonly name = "WallDown";
}

/** Probes the isolation with hostile code and in the kernel's view. @throws Error naming failed checks */
export async function selfTest(test: SelfTest): Promise<void> {
  const canary = await openCanaryPort();
  try {
    const checks = [
      () => tryKernel(test),
      () => tryParentDeath(test),
      ...test.probes.map((probe) => () => tryProbe(test, probe, canary.port)),
    ];
    const problems: (string | undefined)[] = [];
    if (test.oneByOne === true) for (const check of checks) problems.push(await check());
    else problems.push(...(await Promise.all(checks.map((check) => check()))));
    test.signal.throwIfAborted();
    if (canary.visits() > 0) problems.push(failure("no network", "a guest reached a port of this machine"));
    const found = problems.filter((problem) => problem !== undefined);
    if (found.length > 0) throw new SelfTestError(`Sandbox self-test failed. ${found.join(" ")}`);
  } finally {
    canary.close();
  }
}

const failure = (
  check: string,
  how: string,
  advice = "See docs/guides/sandbox.md, “When the self-test refuses”.",
) => `Isolation check “${check}” failed: ${how}. ${advice}`;

async function tryProbe(test: SelfTest, probe: Probe, port: number): Promise<string | undefined> {
  const worker = await test.startWorker(probe.language);
  const job: SandboxJob = {
    runId: `self-test-${randomBytes(4).toString("hex")}`,
    language: probe.language,
    code: probe.code({ port, pyodide: test.pyodide, memoryMb: test.limits.memoryMb[probe.language] }),
    stdin: "",
    timeoutMs: probe.timeoutMs ?? 20_000,
  };
  const outcome = await test.run(worker, job, { ...test.limits, ...probe.limits });
  const problem = probe.problem(outcome);
  return problem === undefined ? undefined : failure(probe.name, problem);
}

async function tryKernel(test: SelfTest): Promise<string | undefined> {
  const worker = await test.startWorker("javascript");
  const problem = kernelProblem(worker.leaf, test);
  worker.end();
  await worker.process.closed;
  return problem === undefined ? undefined : failure(problem.check, problem.how);
}

async function tryParentDeath({
  line,
  parentDeathTimeoutMs: afterlifeMs,
}: SelfTest): Promise<string | undefined> {
  if (await diesWithParent(line, afterlifeMs)) return undefined;
  const advice = "Install bubblewrap, or util-linux with a setpriv that knows --pdeathsig.";
  return failure("guests end with the gateway", "a worker kept running after its parent was killed", advice);
}

/** Opens a port on this machine that no guest may reach. */
async function openCanaryPort(): Promise<{ port: number; visits: () => number; close: () => void }> {
  let visits = 0;
  const server = createServer((socket) => {
    visits += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { port, visits: () => visits, close: () => server.close() };
}
