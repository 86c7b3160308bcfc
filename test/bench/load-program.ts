import process from "node:process";
import { Latencies } from "./latencies.ts";
import { loadCommand, type LoadJob, type LoadReport } from "./load-messages.ts";

/** Counts the answers of a job and keeps its first failure. */
export class Tally {
  readonly latencies = new Latencies();
  answers = 0;
  failure: string | undefined;

  /** @param sentAt when the request was sent, by `performance.now()` */
  answered(sentAt: number): void {
    this.answers++;
    this.latencies.count(performance.now() - sentAt);
  }

  fail(message: string): void {
    this.failure ??= message;
  }
}

/** A job under way. */
export interface Load {
  /** Resolves once nothing is under way any more. */
  stop(): Promise<void>;
}

/** Responses so far; the next sample's latencies start here. */
function sampleOf({ answers, latencies }: Tally): LoadReport {
  const report = { kind: "sample", answers, atMs: performance.now() } as const;
  const [p50Ms, p99Ms] = [latencies.percentile(0.5), latencies.percentile(0.99)];
  latencies.clear();
  return { ...report, p50Ms, p99Ms };
}

/** The main loop of a load generator, controlled over IPC. */
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
    if (command.kind === "sample") return sampleOf(tally);
    return { kind: command.kind === "start" ? "started" : "paused" };
  };

  process.on("message", (message) => {
    obey(message)
      .catch((error: unknown): LoadReport => ({ kind: "failed", message: String(error) }))
      .then((report) => process.send?.(report))
      .catch(() => process.exit(1));
  });
}
