import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { migrate } from "../../src/postgres/database/migrate.ts";
import { auditAndSeal } from "../../src/postgres/operations/audit-database.ts";
import { query } from "../support/database-server.ts";
import { startServerPair } from "../support/standby.ts";
import { fillLedger } from "../postgres/large-ledger.ts";
import type { Bench } from "./bench.ts";
import { DatabaseProcesses } from "./cost-processes.ts";
import { useLedger } from "./growth-ledger.ts";
import { PAID_CALL, toolCallRequest } from "./http-request.ts";
import type { LoadProcess } from "./load.ts";
import type { LoadJob } from "./load-messages.ts";
import { overRounds, type Ratio } from "./measure.ts";
import type { Line } from "./report.ts";
import type { ServedGateway } from "./world.ts";

/** Connections of buyers and of readers. */
const [BUYERS, READERS] = [16, 2];
/** Accounts of the ledger that is read, and receipts on a page. */
const [ACCOUNTS, PAGE] = [100, 20];
/** Limit of a call's cost in the primary while others read on the standby. */
const ON_STANDBY = 1.2;

const page = z.object({ next_cursor: z.string() });

interface Round {
  readonly perSecond: number;
  /** CPU time of the primary per paid call, microseconds. */
  readonly primaryMicros: number;
}

/**
 * Compares paid calls alone, beside readers of the same primary, and beside readers of its standby: old pages
 * of receipts, and whole audits one after the other.
 */
export async function readers(bench: Bench): Promise<Line[]> {
  const { world, plan, scale, load, signal } = bench;
  const pair = await startServerPair();
  const gateways: ServedGateway[] = [];
  try {
    const { url } = pair.primary;
    await migrate(url);
    await fillLedger(url, scale.transfers / 10, ACCOUNTS);
    const { keys } = await useLedger(url, scale.transfers / 10, ACCOUNTS);
    // The first seal takes the primary as long as the history.
    await auditAndSeal({ url, readUrl: url }, { signal });
    await caughtUp(url, pair.standby.url, signal);
    const processes = await DatabaseProcesses.find(url);
    if (!processes) return [];
    const loads = { buyers: load("http"), pages: load("http") };
    const serve = async (env = {}) => {
      const options = { databaseUrl: url, env: { AUDIT_INTERVAL_SECONDS: "0", ...env } };
      const gateway = await world.serve(options);
      gateways.push(gateway);
      return gateway;
    };
    const [single, split] = [await serve(), await serve({ DATABASE_READ_URL: pair.standby.url })];
    const old = await oldPage(keys[0] ?? "", single.httpPort);
    const sides = [
      { gateway: single, readUrl: undefined },
      { gateway: single, readUrl: url },
      { gateway: split, readUrl: pair.standby.url },
    ];
    const measured: Round[][] = sides.map(() => []);
    for (let round = 0; round < plan.rounds; round++)
      for (const [at, side] of sides.entries()) {
        const taken = await roundOf(bench, { ...side, ...loads, url, keys, old, processes });
        measured[at]?.push(taken);
      }
    return linesOf(measured);
  } finally {
    await Promise.all(gateways.map(({ server }) => server.stop()));
    await pair.close();
  }
}

/** Waits until the standby has what the primary wrote. */
async function caughtUp(url: string, standbyUrl: string, signal: AbortSignal): Promise<void> {
  const { rows } = await query(url, "select pg_current_wal_lsn()::text as lsn");
  const replayed = `select pg_last_wal_replay_lsn() >= '${rows[0].lsn}' as done`;
  while ((await query(standbyUrl, replayed)).rows[0].done !== true) await sleep(100, undefined, { signal });
}

interface Side {
  readonly gateway: ServedGateway;
  readonly url: string;
  /** Where audits read; undefined: there are no readers. */
  readonly readUrl: string | undefined;
  readonly keys: readonly string[];
  /** The request for an old page. */
  readonly old: string;
  readonly buyers: LoadProcess;
  readonly pages: LoadProcess;
  readonly processes: DatabaseProcesses;
}

async function roundOf({ plan, signal }: Bench, side: Side): Promise<Round> {
  const { gateway, url, readUrl, keys, old, buyers, pages, processes } = side;
  const jobOf = (requests: string[], connections: number, body: string): LoadJob => ({
    ...{ host: "127.0.0.1", port: gateway.httpPort, connections, requests, expect: { status: 200, body } },
  });
  const buying = keys.map((key) => toolCallRequest(key, PAID_CALL));
  await buyers.start(jobOf(buying, BUYERS, '"receipt_id":"rcpt_'));
  let audits: Promise<void> | undefined;
  const ended = new AbortController();
  if (readUrl !== undefined) {
    await pages.start(jobOf([old], READERS, '"has_more":true'));
    audits = auditAgain({ url, readUrl }, ended.signal);
  }
  await sleep(plan.warmUpMs, undefined, { signal });
  const [before, cpuBefore] = [await buyers.sample(), await processes.cpuSeconds()];
  let [after, cpuAfter] = [before, cpuBefore];
  // A round without an answer or a CPU clock tick continues until there is one.
  while (after.answers === before.answers || cpuAfter === cpuBefore) {
    await sleep(plan.windowMs, undefined, { signal });
    [after, cpuAfter] = [await buyers.sample(), await processes.cpuSeconds()];
  }
  ended.abort();
  await Promise.all([buyers.pause(), pages.pause(), audits]);
  const answers = after.answers - before.answers;
  return {
    perSecond: answers / ((after.atMs - before.atMs) / 1000),
    primaryMicros: ((cpuAfter - cpuBefore) * 1_000_000) / answers,
  };
}

/** The request for the second page; before anything is bought, it is old enough for a standby. */
async function oldPage(key: string, port: number): Promise<string> {
  const headers = { authorization: `Bearer ${key}` };
  const answer = await fetch(`http://127.0.0.1:${port}/receipts?limit=${PAGE}`, { headers });
  const path = `/receipts?limit=${PAGE}&cursor=${page.parse(await answer.json()).next_cursor}`;
  return `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n\r\n`;
}

/** Whole audits until the end. */
async function auditAgain(urls: { url: string; readUrl: string }, ended: AbortSignal): Promise<void> {
  while (!ended.aborted)
    await auditAndSeal(urls, { whole: true, signal: ended }).catch((error: unknown) => {
      if (!ended.aborted) throw error;
    });
}

function linesOf([alone = [], beside = [], apart = []]: readonly Round[][]): Line[] {
  const ratio = (rounds: readonly Round[], others: readonly Round[], figure: (round: Round) => number) =>
    overRounds(rounds.flatMap((one, at) => (others[at] ? [figure(one) / figure(others[at])] : [])));
  const cpu = (rounds: readonly Round[]) =>
    `${overRounds(rounds.map(({ primaryMicros }) => primaryMicros)).median.toFixed(0)} us`;
  const rate = (rounds: readonly Round[]) =>
    `${overRounds(rounds.map(({ perSecond }) => perSecond)).median.toFixed(0)}/s`;
  const line = (measure: string, gateway: string, peer: string, { median, range }: Ratio) => ({
    ...{ measure: `paid call beside readers, ${measure}`, gateway, peer, value: median, range },
  });
  const primary = (round: Round) => round.primaryMicros;
  const throughput = (round: Round) => round.perSecond;
  return [
    {
      ...line(
        "on a standby: CPU of the primary",
        cpu(apart),
        `no readers ${cpu(alone)}; on the primary ${cpu(beside)}`,
        ratio(apart, alone, primary),
      ),
      bar: { atMost: ON_STANDBY },
    },
    {
      ...line(
        "on a standby: throughput",
        rate(apart),
        `on the primary ${rate(beside)}; no readers ${rate(alone)}`,
        ratio(apart, beside, throughput),
      ),
      bar: { atLeast: 1 },
    },
  ];
}
