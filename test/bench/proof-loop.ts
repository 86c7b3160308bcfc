import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { z } from "zod";
import type { Rate, Side } from "./measure.ts";
import { ATTACHED } from "./server-process.ts";

/** The input of a loop. */
export const loopCommand = z.object({ signatures: z.array(z.string()).readonly(), atOnce: z.int() });

/** The output of a loop. */
const loopReport = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("done"), ms: z.number(), cpuMicros: z.number() }),
  z.object({ kind: z.literal("failed"), message: z.string() }),
]);
export type LoopReport = z.output<typeof loopReport>;

/** A program that looks up transactions in its own process. */
export class LoopProcess {
  readonly #child: ChildProcess;

  /** @param kind bare fetch and JSON.parse, or the gateway's verification */
  constructor(kind: "fetch" | "verify", rpcUrl: string, treasuryOwner: string) {
    const file = path.join(import.meta.dirname, "proof-loop", "main.ts");
    this.#child = fork(file, [kind, rpcUrl, treasuryOwner], { execArgv: ATTACHED });
  }

  /** Looks each up once. @throws Error when one is missing or is no payment */
  async lookUp(signatures: readonly string[], atOnce: number): Promise<Rate> {
    const answer = once(this.#child, "message");
    this.#child.send({ signatures, atOnce } satisfies z.input<typeof loopCommand>);
    const [message] = await answer;
    const report = loopReport.parse(message);
    if (report.kind === "failed") throw new Error(report.message);
    return {
      perSecond: signatures.length / (report.ms / 1000),
      cpuMicros: report.cpuMicros / signatures.length,
    };
  }

  /** One side of a comparison; a sixth of the calls warms it up. */
  side(signatures: readonly string[], atOnce: number): Side {
    return async () => {
      await this.lookUp(signatures.slice(0, Math.ceil(signatures.length / 6)), atOnce);
      return this.lookUp(signatures, atOnce);
    };
  }

  async stop(): Promise<void> {
    if (!this.#child.connected) return;
    const exited = once(this.#child, "exit");
    this.#child.disconnect();
    await exited;
  }
}
