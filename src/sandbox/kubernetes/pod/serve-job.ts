import type { SandboxCapabilities, SandboxEngine, SandboxJob } from "../../../domain/tools/sandbox.ts";
import { startedLine, resultLines } from "../frames.ts";
import { emptyOutcome, type PodResult } from "../outcomes.ts";
import { connect } from "node:net";
import { z } from "zod";

/** Time limit of the self-test inside the pod, ms. */
const HEALTH_MS = 120_000;

export interface PodTask {
  readonly job: SandboxJob;
  readonly nonce: string;
  /** "run", or "probe": the canary, whose code is a list of addresses. */
  readonly command: string;
}

/** Runs the job and writes its result line by line. @param engine the process engine inside the pod */
export async function serveJob(
  engine: SandboxEngine,
  { job, nonce, command }: PodTask,
  write: (line: string) => Promise<void>,
): Promise<void> {
  let nextLine = 0;
  const reportStart = async () => {
    await write(startedLine(nonce));
    nextLine = 1;
  };
  const run = async (): Promise<PodResult> => {
    const { done } = await engine.start({ ...job, accountId: "" }, new AbortController().signal);
    await reportStart();
    return { outcome: await done };
  };
  const probe = async (): Promise<PodResult> => {
    await engine.health(AbortSignal.timeout(HEALTH_MS));
    await reportStart();
    return probed(await engine.capabilities(), await reachableTargets(JSON.parse(job.code)));
  };
  const result = await (command === "probe" ? probe() : run()).catch(failed);
  for (const line of resultLines(nonce, nextLine, result)) await write(line);
}

function failed(error: unknown): PodResult {
  const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : "";
  return { failure: { message: error instanceof Error ? error.message + cause : String(error) } };
}

function probed({ languages, isolationLayers, packages }: SandboxCapabilities, reached: string[]): PodResult {
  const result = { reached, languages: [...languages], walls: [...isolationLayers], packages: [...packages] };
  return { outcome: { ...emptyOutcome("succeeded", 0), exitCode: 0, result } };
}

/** Time limit per address, ms. Networks that drop packets take all of it. */
const ANSWER_MS = 3_000;

const targetsSchema = z.array(z.string());

/** Returns the targets that accept connections. A refused one does not count: some networks deny so. */
export async function reachableTargets(targets: unknown): Promise<string[]> {
  const wanted = targetsSchema.parse(targets);
  const reached = await Promise.all(wanted.map((target) => isReachable(target)));
  return wanted.filter((_, index) => reached[index]);
}

async function isReachable(target: string): Promise<boolean> {
  const at = target.lastIndexOf(":");
  const host = target.slice(0, at).replace(/^\[(.*)\]$/, "$1");
  const port = Number(target.slice(at + 1));
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (answer: boolean) => {
      clearTimeout(late);
      socket.destroy();
      resolve(answer);
    };
    const late = setTimeout(() => end(false), ANSWER_MS);
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
  });
}
