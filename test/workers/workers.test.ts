import { expect, it } from "vitest";
import { silent } from "../sandbox/silent-log.ts";
import { Workers, type WorkerProcess, WorkerStartError } from "../../src/workers/workers.ts";

/** A process that this test answers for. */
class FakeProcess implements WorkerProcess {
  readonly pid = 1;
  readonly kills: string[] = [];
  isAlive = true;
  #receive: (message: unknown) => void = () => {};
  #exits: ((code: number | null) => void)[] = [];

  send(message: object): void {
    const { id, method } = message as { id?: number; method?: string };
    if (!this.isAlive || id === undefined) return;
    this.#receive({ answer: id, value: null });
    if (method === "retire") this.exit(0);
  }

  onMessage(receive: (message: unknown) => void): void {
    this.#receive = receive;
  }

  onGone(): void {}

  onExit(act: (code: number | null) => void): void {
    this.#exits.push(act);
  }

  kill(signal: "SIGTERM" | "SIGKILL"): void {
    this.kills.push(signal);
    this.exit(null);
  }

  exit(code: number | null): void {
    for (const act of this.#exits) act(code);
  }

  listen(): void {
    this.#receive({ id: 1, method: "ready", value: "ready" });
  }
}

function open(count: number, { fails = false } = {}) {
  const processes: FakeProcess[] = [];
  const restarts: number[] = [];
  const restarted = Promise.withResolvers<void>();
  const workers = new Workers({
    ...{ count, log: silent, pingMs: 5, onFork: () => {}, onEnd: () => {} },
    fork: () => {
      const made = new FakeProcess();
      processes.push(made);
      queueMicrotask(() => (fails && processes.length > 1 ? made.exit(2) : made.listen()));
      return made;
    },
    onRestart: () => {
      restarts.push(processes.length);
      restarted.resolve();
    },
  });
  return { workers, processes, restarts, restarted: restarted.promise };
}

it("kills a worker that no longer answers, and starts it again", async () => {
  const { workers, processes, restarted } = open(2);
  expect(await workers.start()).toBe("ready");
  const [still] = processes;
  if (still) still.isAlive = false;
  await restarted;
  expect(processes.map(({ kills }) => kills)).toEqual([["SIGKILL"], [], []]);
  await workers.stop();
});

it("ends the others when one does not start, and says with which code", async () => {
  const { workers, processes } = open(2, { fails: true });
  await expect(workers.start()).rejects.toEqual(new WorkerStartError(2));
  expect(processes[0]?.kills).toEqual(["SIGTERM"]);
});

it("keeps the old workers when a new one does not start", async () => {
  const { workers, processes, restarts } = open(1, { fails: true });
  await workers.start();
  await expect(workers.replace()).rejects.toThrow("exit code 2");
  expect(workers.all.map((worker) => worker.process)).toEqual([processes[0]]);
  await workers.stop();
  expect(restarts).toEqual([]);
});

it("counts no replaced worker as one that failed", async () => {
  const { workers, processes, restarts } = open(2);
  await workers.start();
  await workers.replace();
  expect(workers.all.map((worker) => worker.process)).toEqual(processes.slice(2));
  expect(restarts).toEqual([]);
  await workers.stop();
});
