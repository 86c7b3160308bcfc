import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BackgroundWorker } from "../../../src/app/jobs/background-worker.ts";
import type { Job, JobName } from "../../../src/app/jobs/job.ts";
import { MemoryLog, MemoryMetrics } from "./fixture.ts";

const LEASE_MS = 900;
const BEAT_MS = 150;

/** The lease as the database keeps it. */
class Leadership {
  owner: string | undefined;
  until = 0;

  /** One instance's view; `answer` may delay it. */
  of(instance: string, answer: () => Promise<void> = async () => {}) {
    return {
      acquireLeadership: async (leaseMs: number) => {
        await answer();
        const now = performance.now();
        if (this.owner !== instance && now < this.until) return false;
        [this.owner, this.until] = [instance, now + leaseMs];
        return true;
      },
      releaseLeadership: async () => {
        await answer();
        if (this.owner === instance) [this.owner, this.until] = [undefined, 0];
      },
    };
  }
}

const workers: BackgroundWorker[] = [];
let leadership: Leadership;
beforeEach(() => {
  leadership = new Leadership();
});
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.close();
});

function start(
  instance: string,
  works: readonly Job[],
  answer?: () => Promise<void>,
  everywhere: readonly Job[] = [],
) {
  const [metrics, log] = [new MemoryMetrics(), new MemoryLog()];
  const view = leadership.of(instance, answer);
  const worker = new BackgroundWorker({
    leadership: view,
    leaderJobs: works,
    instanceJobs: everywhere,
    metrics,
    log,
    leaseMs: LEASE_MS,
    heartbeatMs: BEAT_MS,
  });
  workers.push(worker);
  worker.start();
  return { worker, metrics, log, leads: () => metrics.values.get("keeper_leading") === 1 };
}

/** Work that counts its rounds. */
function counted(name: JobName = "watch", round: (signal: AbortSignal) => Promise<unknown> = async () => {}) {
  const count = { rounds: 0, ended: 0 };
  const run = (signal: AbortSignal) => {
    count.rounds += 1;
    return round(signal);
  };
  return {
    ...count,
    count,
    name,
    afterMs: 0,
    everyMs: 5,
    limitMs: 10_000,
    run,
    onLeadershipLost: () => void (count.ended += 1),
  };
}

const hang = () => new Promise<never>(() => {});
const soon = { interval: 5 };

describe("one instance", () => {
  it("becomes leader, repeats each job and releases leadership on close", async () => {
    const [watch, audit] = [counted("watch"), counted("audit")];
    const { worker, leads } = start("a", [watch, audit]);
    await expect.poll(() => Math.min(watch.count.rounds, audit.count.rounds), soon).toBeGreaterThan(5);
    expect(leads()).toBe(true);
    await worker.close();
    expect(leadership.owner).toBeUndefined();
    expect(leads()).toBe(false);
    expect(watch.count.ended).toBe(1);
    const { rounds } = watch.count;
    const next = counted();
    start("b", [next]);
    await expect.poll(() => next.count.rounds, soon).toBeGreaterThan(5);
    expect(watch.count.rounds).toBe(rounds);
  });

  it("stays leader and runs its other jobs while one job hangs", async () => {
    const [stuck, watch] = [counted("rescan", hang), counted("watch")];
    const { metrics } = start("a", [stuck, watch]);
    await expect.poll(() => leadership.until - LEASE_MS > performance.now() - 2 * BEAT_MS, soon).toBe(true);
    const since = performance.now();
    await expect.poll(() => performance.now() - since, soon).toBeGreaterThan(2 * LEASE_MS);
    await expect.poll(() => leadership.until > performance.now(), soon).toBe(true);
    await expect.poll(() => watch.count.rounds, soon).toBeGreaterThan(20);
    expect(stuck.count.rounds).toBe(1);
    expect(metrics.values.get("keeper_failures_total rescan")).toBe(0);
  });

  it("aborts a run that exceeds its limit and starts another", async () => {
    const stuck = { ...counted("rescan", hang), limitMs: 20 };
    const { metrics, log } = start("a", [stuck]);
    await expect.poll(() => stuck.count.rounds, soon).toBeGreaterThan(3);
    expect(metrics.values.get("keeper_failures_total rescan")).toBeGreaterThan(2);
    expect(log.lines.filter(({ level }) => level === "warn").map(({ details }) => details)).toEqual([
      {
        work: "rescan",
        err: expect.objectContaining({ message: expect.stringContaining("longer than 20 ms") }),
      },
    ]);
  });

  it("logs a failure once and the recovery once, and counts every failure", async () => {
    let broken = true;
    const watch = counted("watch", async () => {
      if (broken) throw new Error("no endpoint answers");
    });
    const { metrics, log } = start("a", [watch]);
    await expect.poll(() => watch.count.rounds, soon).toBeGreaterThan(5);
    expect(log.of("warn")).toHaveLength(1);
    expect(metrics.values.get("keeper_failures_total watch")).toBeGreaterThan(4);
    broken = false;
    await expect.poll(() => log.of("info"), soon).toContain("treasury job recovered");
    broken = true;
    await expect.poll(() => log.of("warn").length, soon).toBe(2);
  });

  it("closes at once even while jobs hang", async () => {
    let stuck = false;
    // It would exceed the test's time if the end waited for the job.
    const job = { ...counted("watch", hang), limitMs: 3_600_000 };
    const { worker, leads } = start("a", [job], () => (stuck ? hang() : Promise.resolve()));
    await expect.poll(leads, soon).toBe(true);
    stuck = true;
    await worker.close();
    expect(job.count.rounds).toBe(1);
  });

  it("closes without having been started", async () => {
    const view = leadership.of("a");
    await new BackgroundWorker({
      leadership: view,
      leaderJobs: [],
      instanceJobs: [],
      metrics: new MemoryMetrics(),
      log: new MemoryLog(),
    }).close();
    expect(leadership.owner).toBeUndefined();
  });
});

describe("several instances", () => {
  it("elects one leader, and another as soon as it resigns", async () => {
    const works = [counted(), counted(), counted()];
    const instances = works.map((work, n) => start(`i${n}`, [work]));
    const leading = () => instances.findIndex(({ leads }) => leads());
    await expect.poll(leading, soon).not.toBe(-1);
    const first = leading();
    expect(works.filter(({ count }) => count.rounds > 0)).toHaveLength(1);
    await instances[first]?.worker.close();
    await expect.poll(leading, soon).not.toBe(-1);
    expect(leading()).not.toBe(first);
  });

  it("runs the instance jobs on every instance", async () => {
    const figures = [counted("figures"), counted("figures")];
    for (const [n, work] of figures.entries()) start(`i${n}`, [], undefined, [work]);
    await expect.poll(() => figures.every(({ count }) => count.rounds > 1), soon).toBe(true);
  });

  it.each(["fails", "hangs"])(
    "stops the leader's jobs before another instance can lead, when renewing %s",
    async (how) => {
      let cut = false;
      const answer = () => {
        if (!cut) return Promise.resolve();
        return how === "hangs" ? hang() : Promise.reject(new Error("the database is away"));
      };
      const stopped: number[] = [];
      const old = counted("watch", (signal) => {
        signal.addEventListener("abort", () => stopped.push(performance.now()));
        return hang();
      });
      const { leads, metrics } = start("old", [old], answer);
      await expect.poll(leads, soon).toBe(true);
      cut = true;
      const next = start("new", [counted()]);
      await expect.poll(next.leads, soon).toBe(true);
      const took = leadership.until - LEASE_MS;
      expect(leads()).toBe(false);
      expect(stopped).toHaveLength(1);
      expect(stopped[0]).toBeLessThanOrEqual(took);
      expect(metrics.values.get("keeper_failures_total lead")).toBeGreaterThan(0);
      cut = false;
      await next.worker.close();
      await expect.poll(leads, soon).toBe(true);
    },
  );
});
