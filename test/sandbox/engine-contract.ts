import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type {
  AccountJob,
  SandboxEngine,
  SandboxLanguage,
  SandboxOutcome,
} from "../../src/domain/tools/sandbox.ts";
import { ToolgateError } from "../../src/domain/core/errors.ts";
import { ANSWERS_42, ENDLESS, job } from "./contract-code.ts";
import { codeContract } from "./code-contract.ts";

export interface EngineRoom {
  readonly atOnce: number;
  readonly waiting: number;
}

export interface ContractParts {
  /** Whether it runs code. If not, only contract-code.ts is used. */
  readonly runsCode: boolean;
  /** Languages tested only for essentials, because their interpreter starts slowly. */
  readonly brief?: readonly SandboxLanguage[];
}

/** An open engine; `end` runs after it is closed. */
export interface MadeEngine {
  readonly engine: SandboxEngine;
  readonly end?: () => Promise<void>;
}

const ROOMY = { atOnce: 2, waiting: 4 };
const NARROW = { atOnce: 1, waiting: 1 };
const NEVER = new AbortController().signal;

/**
 * Tests common to all sandbox engines.
 * @param make returns an engine before its health check
 */
export function engineContract(
  name: string,
  make: (room: EngineRoom) => Promise<MadeEngine>,
  { runsCode, brief = [] }: ContractParts,
): void {
  describe(`sandbox engine ${name}`, () => {
    const roomy = opened(make, ROOMY);

    describe("executions", () => {
      it("passes its health check", async () => {
        await expect(roomy.engine().health(AbortSignal.timeout(190_000))).resolves.toBeUndefined();
      });

      it("reports its languages and isolation layers", async () => {
        const { languages, isolationLayers } = await roomy.engine().capabilities();
        expect([...languages].sort()).toEqual(["javascript", "python"]);
        expect(isolationLayers).not.toEqual([]);
        expect(roomy.engine().name).toMatch(/^[a-z]+$/);
      });

      it("returns the result of the code", async () => {
        expect(await outcomeOf(roomy.engine(), job(ANSWERS_42.javascript))).toMatchObject({
          ...{ status: "succeeded", result: 42, error: null, exitCode: 0 },
          ...{ stdout: "", stderr: "", stdoutTruncated: false, stderrTruncated: false },
          durationMs: expect.any(Number),
        });
      });

      it("separates two concurrent executions", async () => {
        const [endless, answers] = [job(ENDLESS.javascript), job(ANSWERS_42.javascript)];
        const first = await roomy.engine().start(endless, NEVER);
        expect((await outcomeOf(roomy.engine(), answers)).result).toBe(42);
        await roomy.engine().cancel(endless.runId);
        expect((await first.done).status).toBe("cancelled");
      });

      it("runs another account's code while one waits for its own to end", async () => {
        const [endless, later] = [job(ENDLESS.javascript), job(ANSWERS_42.javascript)];
        const first = await roomy.engine().start(endless, NEVER);
        let isOver = false;
        const second = outcomeOf(roomy.engine(), { ...later, accountId: endless.accountId });
        void second.finally(() => (isOver = true));
        expect((await outcomeOf(roomy.engine(), job(ANSWERS_42.javascript))).result).toBe(42);
        expect(isOver).toBe(false);
        await roomy.engine().cancel(endless.runId);
        await first.done;
        expect((await second).result).toBe(42);
      });

      it("stops code at its time limit", async () => {
        const outcome = await outcomeOf(
          roomy.engine(),
          job(ENDLESS.javascript, "javascript", { timeoutMs: 300 }),
        );
        expect(outcome).toMatchObject({ status: "timeout", exitCode: null, result: null });
        expect(outcome.durationMs).toBeGreaterThanOrEqual(290);
      });
    });

    describe("cancellation", () => {
      it("cancels an execution once", async () => {
        const endless = job(ENDLESS.javascript);
        const { done } = await roomy.engine().start(endless, NEVER);
        expect(await roomy.engine().cancel(endless.runId)).toBe(true);
        expect(await done).toMatchObject({ status: "cancelled", exitCode: null, result: null });
        expect(await roomy.engine().cancel(endless.runId)).toBe(false);
      });

      it("returns false for finished and unknown executions", async () => {
        const over = job(ANSWERS_42.javascript);
        await outcomeOf(roomy.engine(), over);
        expect(await roomy.engine().cancel(over.runId)).toBe(false);
        expect(await roomy.engine().cancel(job("").runId)).toBe(false);
      });

      it("rejects the result of an aborted execution", async () => {
        const aborted = new AbortController();
        const { done } = await roomy.engine().start(job(ENDLESS.javascript), aborted.signal);
        const lost = refusalOf(done);
        aborted.abort();
        expect(await lost).toBe("UNAVAILABLE");
      });

      it("does not start an execution that is already aborted", async () => {
        const started = roomy.engine().start(job(ANSWERS_42.javascript), AbortSignal.abort());
        expect(await refusalOf(started)).toBe("UNAVAILABLE");
      });

      it("reaps only executions older than the given date", async () => {
        const before = new Date(Date.now() - 60_000);
        const endless = job(ENDLESS.javascript);
        const { done } = await roomy.engine().start(endless, NEVER);
        expect(await roomy.engine().reap(before)).toBe(0);
        expect(await roomy.engine().cancel(endless.runId)).toBe(true);
        expect((await done).status).toBe("cancelled");
      });
    });

    describe("one slot and a queue of one", () => {
      const narrow = opened(make, NARROW);

      it("queues one execution, rejects the next with a retry time, and accepts again later", async () => {
        const running = job(ENDLESS.javascript);
        const { done } = await narrow.engine().start(running, NEVER);
        const waits = outcomeOf(narrow.engine(), job(ANSWERS_42.javascript));
        await expect(narrow.engine().start(job(ANSWERS_42.javascript), NEVER)).rejects.toMatchObject({
          code: "UNAVAILABLE",
          retryAfterSeconds: expect.any(Number),
        });
        await narrow.engine().cancel(running.runId);
        expect((await done).status).toBe("cancelled");
        expect((await waits).result).toBe(42);
        expect((await outcomeOf(narrow.engine(), job(ANSWERS_42.javascript))).result).toBe(42);
      });

      it("cancels a queued execution without starting it", async () => {
        const [running, waiting] = [job(ENDLESS.javascript), job(ANSWERS_42.javascript)];
        const { done } = await narrow.engine().start(running, NEVER);
        const waits = refusalOf(narrow.engine().start(waiting, NEVER));
        expect(await narrow.engine().cancel(waiting.runId)).toBe(true);
        expect(await waits).toBe("CANCELLED");
        expect(await narrow.engine().cancel(waiting.runId)).toBe(false);
        await narrow.engine().cancel(running.runId);
        await done;
      });

      it("passes the slot of an aborted queued execution to the next", async () => {
        const running = job(ENDLESS.javascript);
        const aborted = new AbortController();
        const { done } = await narrow.engine().start(running, NEVER);
        const waits = narrow.engine().start(job(ANSWERS_42.javascript), aborted.signal);
        const refused = refusalOf(waits);
        aborted.abort();
        expect(await refused).toBe("UNAVAILABLE");
        const next = outcomeOf(narrow.engine(), job(ANSWERS_42.javascript));
        await narrow.engine().cancel(running.runId);
        await done;
        expect((await next).result).toBe(42);
      });

      it("stops running and queued executions when closed, and starts no more", async () => {
        const { done } = await narrow.engine().start(job(ENDLESS.javascript), NEVER);
        const waits = narrow.engine().start(job(ANSWERS_42.javascript), NEVER);
        const ended = Promise.all([refusalOf(waits), refusalOf(done)]);
        await narrow.engine().close();
        expect(await ended).toEqual(["UNAVAILABLE", "UNAVAILABLE"]);
        expect(await refusalOf(narrow.engine().start(job(ANSWERS_42.javascript), NEVER))).toBe("UNAVAILABLE");
        await narrow.engine().close();
      });
    });

    if (runsCode) codeContract(roomy.engine, brief);
  });
}

export async function outcomeOf(engine: SandboxEngine, asked: AccountJob): Promise<SandboxOutcome> {
  const { done } = await engine.start(asked, NEVER);
  return done;
}

/** Returns the code of a rejection, if any. */
async function refusalOf(promise: Promise<unknown>): Promise<string | undefined> {
  return promise.then(
    () => undefined,
    (error: unknown) => (error instanceof ToolgateError ? error.code : String(error)),
  );
}

/** Opens an engine, checks its health, and closes it after the tests. */
function opened(
  make: (room: EngineRoom) => Promise<MadeEngine>,
  room: EngineRoom,
): { engine(): SandboxEngine } {
  let made: MadeEngine | undefined;
  const engine = () => {
    if (!made) throw new Error("the engine was not made");
    return made.engine;
  };
  beforeAll(async () => {
    made = await make(room);
  });
  afterAll(async () => {
    await made?.engine.close();
    await made?.end?.();
  });
  return { engine };
}
