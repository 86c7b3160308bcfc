import process from "node:process";
import { loadCommand, type LoadJob, type LoadReport } from "./load-messages.ts";

/** Counts the answers of a job and keeps its first failure. */
export class Tally {
  answers = 0;
  failure: string | undefined;

  fail(message: string): void {
    this.failure ??= message;
  }
}

/** A job under way. */
export interface Load {
  /** Resolves once nothing is under way any more. */
  stop(): Promise<void>;
}

/** The main loop of a load generator: does what the benchmark says over IPC. */
export function serveLoad(begin: (job: LoadJob, tally: Tally) => Promise<Load>): void {
  let tally = new Tally();
  let load: Load | undefined;

  const obey = async (message: unknown): Promise<LoadReport> => {
    const command = loadCommand.parse(message);
    if (command.kind === "start") {
      tally = new Tally();
      load = await begin(command.job, tally);
    } else if (command.kind === "pause") {
      await load?.stop();
    }
    if (tally.failure !== undefined) return { kind: "failed", message: tally.failure };
    if (command.kind === "sample") return { kind: "sample", answers: tally.answers, atMs: performance.now() };
    return { kind: command.kind === "start" ? "started" : "paused" };
  };

  process.on("message", (message) => {
    obey(message)
      .catch((error: unknown): LoadReport => ({ kind: "failed", message: String(error) }))
      .then((report) => process.send?.(report))
      .catch(() => process.exit(1));
  });
}
