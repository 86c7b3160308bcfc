import type { Cost } from "./cost-part.ts";
import type { FleetRate } from "./instances-fleet.ts";
import { median } from "./measure.ts";
import type { Line } from "./report.ts";

/** WAL bytes allowed per uncharged call, including background writes. */
const UNPAID_LOG = 50;
/** Limits of a charged call's log and table growth, bytes. */
const PAID_LOG = 3_500;
const PAID_GROWTH = 4_000;
/** Limits of the CPU time of a charged call alone, microseconds: of the gateway and of PostgreSQL. */
const [GATEWAY_MICROS, DATABASE_MICROS] = [400, 500];
/** Transactions of a call in a batch of one: authorize and capture. */
const COMMITS = 2;
/** Reduction by batches. */
const BATCHED = 0.5;

/** The lines of each kind of call; for charged calls also the savings by batching. */
export function costLines(costs: readonly Cost[]): Line[] {
  const alone = costs.find(({ job }) => job.paid && job.connections === 1);
  return costs.flatMap((cost) => {
    if (!cost.job.paid) return [logLine(cost, UNPAID_LOG)];
    if (!alone || cost === alone)
      return [logLine(cost, PAID_LOG), commitLine(cost, 1.1), growthLine(cost), ...aloneLines(cost)];
    return [logLine(cost, PAID_LOG), commitLine(cost, BATCHED), workLine(cost, alone)];
  });
}

/** CPU and bytes. */
function logLine(cost: Cost, allowed: number): Line {
  const { job, batches, answered } = cost;
  const log = batches.reduce((total, { walBytes }) => total + walBytes, 0) / answered;
  return {
    measure: `${job.name}: log per call`,
    gateway:
      `${log.toFixed(0)} bytes; ${workText(cost)}; request ${job.bytes.request} bytes, ` +
      `answer ${job.bytes.answer}`,
    peer: `${allowed} bytes`,
    value: log / allowed,
    bar: { atMost: 1 },
  };
}

/** Durable transactions, and how often the disk was waited for. */
function commitLine({ job, batches, answered, before, after }: Cost, atMost: number): Line {
  const commits = batches.reduce((total, each) => total + each.commits, 0);
  const calls = batches.reduce((total, each) => total + each.calls, 0);
  const flushes = (after.flushes - before.flushes) / answered;
  const transactions = (after.transactions - before.transactions) / answered;
  const batch = median(batches.map((each) => each.batch)) ?? Number.NaN;
  return {
    measure: `${job.name}: durable commits per call`,
    gateway:
      `${(commits / calls).toFixed(2)}, ${batch.toFixed(1)} calls in each; ${transactions.toFixed(2)} ` +
      `transactions, ${flushes.toFixed(2)} flushes`,
    peer: `${COMMITS}, each alone`,
    value: commits / calls / COMMITS,
    bar: { atMost },
  };
}

/** The work of a call in a batch, relative to a batch of one. */
function workLine(cost: Cost, alone: Cost): Line {
  return {
    measure: `${cost.job.name}: CPU per call`,
    gateway: workText(cost),
    peer: `1 at once ${workText(alone)}`,
    value: workOf(cost) / workOf(alone),
    bar: { atMost: BATCHED },
  };
}

/** CPU time of a call in a batch of one. */
function aloneLines({ job, rates }: Cost): Line[] {
  const line = (name: string, limit: number, microsOf: (rate: FleetRate) => number | undefined): Line[] => {
    const micros = rates.flatMap((rate) => microsOf(rate) ?? []).map((value) => value / limit);
    const value = median(micros);
    if (value === undefined) return [];
    return [
      {
        ...{ measure: `${job.name}: CPU of ${name}`, gateway: `${(value * limit).toFixed(0)} us` },
        ...{ peer: `${limit} us`, value, bar: { atMost: 1 } },
        range: { least: Math.min(...micros), most: Math.max(...micros) },
      },
    ];
  };
  return [
    ...line("the gateway", GATEWAY_MICROS, (rate) => rate.gatewayMicros),
    ...line("PostgreSQL", DATABASE_MICROS, (rate) => rate.databaseMicros),
  ];
}

/** Growth of the tables and indexes. */
function growthLine({ job, answered, before, after }: Cost): Line {
  const tables = Object.entries(after.bytes)
    .map(([name, bytes]): [string, number] => [name, (bytes - (before.bytes[name] ?? 0)) / answered])
    .filter(([, bytes]) => bytes >= 1)
    .sort(([, a], [, b]) => b - a);
  const growth = tables.reduce((total, [, bytes]) => total + bytes, 0);
  return {
    measure: `${job.name}: growth of the database`,
    gateway:
      `${growth.toFixed(0)} ` +
      `bytes: ${tables.map(([name, bytes]) => `${name} ${bytes.toFixed(0)}`).join(", ")}`,
    peer: `${PAID_GROWTH} bytes`,
    value: growth / PAID_GROWTH,
    bar: { atMost: 1 },
  };
}

function workOf({ rates }: Cost): number {
  return median(rates.map((rate) => rate.gatewayMicros + (rate.databaseMicros ?? 0))) ?? Number.NaN;
}

function workText({ rates }: Cost): string {
  const micros = (figure: (rate: FleetRate) => number | undefined) =>
    median(rates.flatMap((rate) => figure(rate) ?? []));
  const database = micros((rate) => rate.databaseMicros);
  const gateway = `gateway ${micros((rate) => rate.gatewayMicros)?.toFixed(0)} us`;
  return database === undefined ? gateway : `${gateway}, PostgreSQL ${database.toFixed(0)} us`;
}
