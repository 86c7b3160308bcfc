import type { AuditFinding } from "../../src/app/operations/audit.ts";
import { auditAndSeal, auditDatabase } from "../../src/postgres/operations/audit-database.ts";
import { sealMonths } from "../postgres/large-ledger.ts";
import type { Bench } from "./bench.ts";
import { archiveFirstMonth, type Archived } from "./growth-archive.ts";
import { growLedger, type GrownLedger } from "./growth-ledger.ts";
import { operationsFor, type Operation } from "./growth-questions.ts";
import type { LoadProcess } from "./load.ts";
import { loaded, median, type Plan, type Side } from "./measure.ts";
import type { Line } from "./report.ts";
import type { ServedGateway } from "./world.ts";

/** Low load: measures latency, not throughput. */
const CONNECTIONS = 2;

/** A window that is long enough for half of the answers, and short enough for many questions. */
const [WINDOW_MS, WARM_UP_MS] = [1_000, 300];

/** Allowed slowdown against the smallest ledger; first audits: per transfer, against the next smaller. */
const BAR = 1.2;

/** Allowance for an audit since the last seal, whatever the history, seconds. */
const LATER_AUDIT_S = 60;

/**
 * Gateways on ledgers of several sizes, all on one PostgreSQL: how long each question takes, against the
 * smallest one.
 */
export async function growth(bench: Bench): Promise<Line[]> {
  const { world, scale } = bench;
  const ledgers: GrownLedger[] = [];
  for (const transfers of scale.ledgers)
    ledgers.push(await growLedger(world, transfers, scale.ledgerAccounts));
  return growthOf(bench, ledgers);
}

/** @param ledgers the smallest first */
async function growthOf(
  { world, plan, scale, signal, load }: Pick<Bench, "world" | "plan" | "scale" | "signal" | "load">,
  ledgers: readonly GrownLedger[],
): Promise<Line[]> {
  const first = await audited(ledgers, ({ url }) => auditDatabase(url, signal));
  for (const { url } of ledgers) await sealMonths(url);
  const grown: { ledger: GrownLedger; gateway: ServedGateway }[] = [];
  try {
    // An audit of the largest ledger takes minutes and is measured separately.
    const env = { AUDIT_INTERVAL_SECONDS: "0" };
    const serve = async (ledger: GrownLedger) => ({
      ledger,
      gateway: await world.serve({ databaseUrl: ledger.url, env }),
    });
    grown.push(...(await Promise.all(ledgers.map(serve))));
    const [smallest] = ledgers;
    if (!smallest) return [];
    const generator = load("http");
    const lines: Line[] = [];
    for (const question of operationsFor(smallest, scale.farPage)) {
      const sides: Side[] = [];
      for (const { ledger, gateway } of grown)
        sides.push(await sideOf(question, ledger, gateway, { load: generator, plan, signal }));
      lines.push(...latencyLines(question.name, ledgers, await medians(sides, plan.rounds)));
    }
    const later = await audited(ledgers, ({ url }) => auditAndSeal({ url, readUrl: url }, { signal }));
    const archived: Archived[] = [];
    for (const { url } of ledgers) archived.push(await archiveFirstMonth(url));
    return [
      ...lines,
      ...firstAudits(ledgers, first),
      ...laterAudits(ledgers, later),
      ...archives(ledgers, archived),
    ];
  } finally {
    await Promise.allSettled(grown.map(({ gateway }) => gateway.server.stop()));
  }
}

async function sideOf(
  { requests, expect }: Operation,
  ledger: GrownLedger,
  { server, httpPort }: ServedGateway,
  { load, plan, signal }: { load: LoadProcess; plan: Plan; signal: AbortSignal },
): Promise<Side> {
  const job = {
    ...{ host: "127.0.0.1", port: httpPort, connections: CONNECTIONS, expect },
    requests: await requests(ledger, httpPort),
  };
  const own = {
    ...plan,
    windowMs: Math.min(plan.windowMs, WINDOW_MS),
    warmUpMs: Math.min(plan.warmUpMs, WARM_UP_MS),
  };
  return loaded(load, server, job, own, signal);
}

/** Medians over all rounds: of latencies, ms, and of their ratios to the first side. */
interface Medians {
  readonly p50Ms: number;
  readonly ratio: number;
}

/** Measures all sides in turn, round after round; who is first changes. */
async function medians(sides: readonly Side[], rounds: number): Promise<Medians[]> {
  const measured: number[][] = sides.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < sides.length; turn++) {
      const at = (round + turn) % sides.length;
      const rate = await sides[at]?.();
      measured[at]?.push(rate?.p50Ms ?? Number.NaN);
    }
  }
  return measured.map((own) => ({
    p50Ms: median(own) ?? Number.NaN,
    ratio: median(own.map((value, round) => value / (measured[0]?.[round] ?? Number.NaN))) ?? Number.NaN,
  }));
}

function latencyLines(name: string, ledgers: readonly GrownLedger[], found: readonly Medians[]): Line[] {
  const [smallest] = ledgers;
  return ledgers.slice(1).map(({ transfers }, n) => ({
    measure: `${name}, ${sized(transfers)}: p50`,
    gateway: `${found[n + 1]?.p50Ms.toFixed(2)} ms`,
    peer: `${sized(smallest?.transfers ?? 0)} ${found[0]?.p50Ms.toFixed(2)} ms`,
    value: found[n + 1]?.ratio ?? Number.NaN,
    bar: { atMost: BAR },
  }));
}

/** Audits each ledger, which must find no violation. @returns seconds by ledger */
async function audited(
  ledgers: readonly GrownLedger[],
  audit: (ledger: GrownLedger) => Promise<AuditFinding[]>,
): Promise<number[]> {
  const seconds: number[] = [];
  for (const ledger of ledgers) {
    const began = performance.now();
    const wrong = (await audit(ledger)).filter(({ violations }) => violations > 0n);
    seconds.push((performance.now() - began) / 1000);
    if (wrong.length > 0)
      throw new Error(`the audit found violations: ${wrong.map(({ name }) => name).join(", ")}`);
  }
  return seconds;
}

/** Time per transfer, compared with the next smaller ledger. */
function firstAudits(ledgers: readonly GrownLedger[], seconds: readonly number[]): Line[] {
  return ledgers.slice(1).map(({ transfers }, n) => {
    const [before, took] = [seconds[n] ?? Number.NaN, seconds[n + 1] ?? Number.NaN];
    const smaller = ledgers[n]?.transfers ?? Number.NaN;
    return {
      measure: `first audit, ${sized(transfers)}: time per transfer`,
      gateway: `${took.toFixed(1)} s`,
      peer: `${sized(smaller)} ${before.toFixed(2)} s`,
      value: took / transfers / (before / smaller),
      bar: { atMost: BAR },
    };
  });
}

/** Time after calls of some seconds. */
function laterAudits(ledgers: readonly GrownLedger[], seconds: readonly number[]): Line[] {
  return ledgers.map(({ transfers }, n) => ({
    measure: `later audit, ${sized(transfers)}`,
    gateway: `${seconds[n]?.toFixed(2)} s`,
    peer: `${LATER_AUDIT_S} s`,
    value: (seconds[n] ?? Number.NaN) / LATER_AUDIT_S,
    bar: { atMost: 1 },
  }));
}

/** Time per row of a month, compared with the smallest ledger. */
function archives(ledgers: readonly GrownLedger[], [smallest, ...larger]: readonly Archived[]): Line[] {
  if (!smallest) return [];
  const described = ({ rows, seconds }: Archived) =>
    `${rows.toLocaleString("en")} rows in ${seconds.toFixed(1)} s`;
  return larger.map((one, n) => ({
    measure: `archive of a month, ${sized(ledgers[n + 1]?.transfers ?? Number.NaN)}: time per row`,
    gateway: described(one),
    peer: described(smallest),
    value: one.seconds / one.rows / (smallest.seconds / smallest.rows),
    bar: { atMost: BAR },
  }));
}

function sized(transfers: number): string {
  return `${transfers.toLocaleString("en")} transfers`;
}
