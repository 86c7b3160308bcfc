import { describe, expect, it } from "vitest";
import { relayJobs, type RelayJobsOptions } from "../../../src/app/jobs/relay-jobs.ts";
import type { Job } from "../../../src/app/jobs/job.ts";
import type { RelayClaim } from "../../../src/app/payments/gasless/relay-claims.ts";
import { PrometheusMetrics } from "../../../src/metrics/index.ts";

/** The background jobs of the gasless relay. */

const SIGNAL = new AbortController().signal;
const LOW = 20_000_000n;

function claimOf(quoteId: string): RelayClaim {
  return {
    messageHash: Buffer.from(quoteId),
    quoteId,
    txSignature: quoteId,
    signedTransaction: Buffer.alloc(0),
    state: "broadcast",
    reason: undefined,
    lastValidBlockHeight: 1n,
    claimedAt: 0,
  };
}

/** The jobs, the claims they advanced, their log, and the state of each step. */
function scene(change: Partial<RelayJobsOptions> = {}) {
  const advanced: string[] = [];
  const said: [level: string, details: object][] = [];
  const reported = { lamports: 1_000_000_000n, unfinished: [] as RelayClaim[], broken: new Set<string>() };
  const say = (level: string) => (details: object) => void said.push([level, details]);
  const metrics = new PrometheusMetrics();
  const { jobs, everywhere } = relayJobs({
    relay: {
      feePayer: "fees",
      advance: async (claim) => {
        if (reported.broken.has(claim.quoteId)) throw new Error(`${claim.quoteId} cannot be asked`);
        advanced.push(claim.quoteId);
        return "confirmed";
      },
    },
    claims: { unfinished: async () => reported.unfinished, spentToday: async () => 30_000n },
    chain: { balance: async () => reported.lamports },
    lowLamports: LOW,
    metrics,
    log: { info: say("info"), warn: say("warn"), error: say("error") },
    watchIntervalMs: 2_500,
    ...change,
  });
  return { jobs, everywhere, advanced, said, reported, metrics };
}

const only = ([work]: readonly Job[]): Job => {
  if (!work) throw new Error("there is a work");
  return work;
};

describe("unfinished relayed payments", () => {
  it("advances each payment by one step, even if another fails", async () => {
    const { jobs, advanced, reported } = scene();
    reported.unfinished = Array.from({ length: 20 }, (_, n) => claimOf(`q${n}`));
    reported.broken.add("q3");
    await expect(only(jobs).run(SIGNAL)).rejects.toThrow("1 of 20 relayed payments could not be finished");
    expect(advanced).toHaveLength(19);
    reported.broken.clear();
    await only(jobs).run(SIGNAL);
    expect(advanced).toHaveLength(39);
  });

  it("stops when leadership is lost", async () => {
    const { jobs, advanced, reported } = scene();
    reported.unfinished = Array.from({ length: 20 }, (_, n) => claimOf(`q${n}`));
    await expect(only(jobs).run(AbortSignal.abort(new Error("leads no longer")))).rejects.toThrow(
      "leads no longer",
    );
    expect(advanced.length).toBeLessThan(20);
  });

  it("polls no more often than the treasury watch", () => {
    expect(only(scene().jobs).everyMs).toBe(2_500);
    expect(only(scene({ watchIntervalMs: 600_000 }).jobs).everyMs).toBe(600_000);
  });
});

describe("FeePayerMonitor", () => {
  it("warns once when the balance is low, and again only after it was sufficient", async () => {
    const { everywhere, said, reported, metrics } = scene();
    const look = async (lamports: bigint) => {
      reported.lamports = lamports;
      await only(everywhere).run(SIGNAL);
    };
    await look(LOW);
    expect(said).toEqual([]);
    for (const lamports of [LOW - 1n, 5n, 5n]) await look(lamports);
    expect(said).toEqual([
      ["warn", { fee_payer: "fees", lamports: Number(LOW - 1n), low_lamports: Number(LOW) }],
    ]);
    await look(LOW);
    await look(0n);
    expect(said.map(([level]) => level)).toEqual(["warn", "info", "warn"]);
    const { text } = await metrics.exposition();
    expect(text).toContain("toolgate_fee_payer_lamports 0");
    expect(text).toContain("toolgate_relay_lamports_today 30000");
  });

  it("checks the fee payer when an instance starts", () => {
    expect(only(scene().everywhere).afterMs).toBe(0);
  });
});
