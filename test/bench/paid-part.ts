import type { Bench } from "./bench.ts";
import { callOnce, PAID_CALL, toolCallRequest } from "./http-request.ts";
import type { LoadProcess } from "./load.ts";
import type { LoadJob } from "./load-messages.ts";
import { compare, loaded, type Side } from "./measure.ts";
import { p99Line, throughputLine, type Line } from "./report.ts";
import { openSqlPeer, type SqlPeer } from "./sql-peer.ts";

/** Starting balance of every account: more than any run spends. */
const USDC = "1000000";

/** Connections of a service that is hardly used. */
const FEW = 4;

/** Connections of a service that is used as much as it can be. */
const MANY = 64;

/** Limit of the server's CPU time for a paid call, microseconds. */
const CPU_MICROS = 100;

/** Context of this part's measurements. */
interface Paid {
  readonly bench: Bench;
  readonly keys: readonly string[];
  readonly sql: SqlPeer;
  readonly load: LoadProcess;
  /** The gateway answering calls of these accounts. */
  calls(of: { readonly accounts: number; readonly connections: number }): Side;
}

/**
 * Compares paid calls over HTTP with PostgreSQL running only their SQL, one call per transaction.
 * A ratio above 1 is possible because the gateway commits calls in batches.
 */
export async function paidCalls(bench: Bench): Promise<Line[]> {
  const { world, gateway, plan, scale, signal } = bench;
  const keys = await world.createAccounts(scale.accounts, USDC);
  const sql = await openSqlPeer(world, scale.accounts);
  const load = bench.load("http");
  const paid: Paid = {
    ...{ bench, keys, sql, load },
    calls: ({ accounts, connections }) => {
      const requests = keys.slice(0, accounts).map((key) => toolCallRequest(key, PAID_CALL));
      return loaded(load, gateway.server, jobOf(gateway.httpPort, connections, requests), plan, signal);
    },
  };
  return [
    ...(await throughputs(paid)),
    ...(await serverCpu(paid)),
    ...(await latencies(paid)),
    await replays(paid),
  ];
}

async function throughputs({ bench: { plan, scale }, sql, calls }: Paid): Promise<Line[]> {
  const lines: Line[] = [];
  for (const accounts of [1, scale.accounts]) {
    for (const connections of scale.connections) {
      const comparison = await compare(
        calls({ accounts, connections }),
        sql.calls({ accounts, connections }, plan),
        plan,
      );
      const title = `paid call, ${accountsText(accounts)}, ${connections} connections`;
      lines.push(throughputLine(title, comparison, sql.name, leastOf(accounts, connections)));
    }
  }
  return lines;
}

/** How many times what PostgreSQL does alone, one call a transaction, the gateway must do. */
function leastOf(accounts: number, connections: number): number {
  if (connections < MANY) return accounts === 1 ? 2 : 1;
  return accounts === 1 ? 5 : 1.5;
}

/** An absolute cost; a minimal server shows the current speed of the machine. */
async function serverCpu({ bench, keys, load, calls }: Paid): Promise<Line[]> {
  const { gateway, plan, signal } = bench;
  const answer = await callOnce(gateway.httpPort, keys[0] ?? "", PAID_CALL, 200);
  const peer = await bench.peer("test/bench/http-peer/main.ts", { args: ["200", answer] });
  const job = jobOf(peer.port, MANY, [toolCallRequest(keys[0] ?? "", PAID_CALL)]);
  const bare = loaded(load, peer.server, job, plan, signal);
  const comparison = await compare(calls({ accounts: 1, connections: MANY }), bare, plan);
  const { cpuMicros } = comparison.gateway;
  if (cpuMicros === undefined) return [];
  return [
    {
      ...{
        measure: "paid call, one account: server CPU per call, us",
        value: cpuMicros,
        bar: { atMost: CPU_MICROS },
      },
      gateway: `${cpuMicros.toFixed(0)} us`,
      peer:
        `node:http + JSON ${comparison.peer.cpuMicros?.toFixed(0)} us, ` +
        `${comparison.cpuRatio?.median.toFixed(1)} times as much`,
    },
  ];
}

/** Measures the latency of a call beyond its two durable commits, without contention. */
async function latencies({ bench: { plan, scale }, sql, calls }: Paid): Promise<Line[]> {
  const lines: Line[] = [];
  for (const accounts of [1, scale.accounts]) {
    const comparison = await compare(calls({ accounts, connections: FEW }), sql.commits(FEW, plan), plan);
    const title = `paid call, ${accountsText(accounts)}, ${FEW} connections`;
    lines.push(...p99Line(title, comparison, "two bare commits", 1.5));
  }
  return lines;
}

/** A replay only reads: it takes no lock and writes nothing. Replays of one key run one at a time. */
async function replays({ bench, keys, load, calls }: Paid): Promise<Line> {
  const { gateway, plan, signal } = bench;
  const [key = ""] = keys;
  const repeats = Array.from({ length: MANY }, (_, n) => ({
    ...PAID_CALL,
    idempotency_key: `answered before ${n}`,
  }));
  await Promise.all(repeats.map((call) => callOnce(gateway.httpPort, key, call, 200)));
  const requests = repeats.map((call) => toolCallRequest(key, call));
  const repeated = loaded(load, gateway.server, jobOf(gateway.httpPort, MANY, requests), plan, signal);
  const comparison = await compare(repeated, calls({ accounts: 1, connections: MANY }), plan);
  return throughputLine(
    `replay of a paid call, one account, ${MANY} connections`,
    comparison,
    "fresh calls",
    3,
  );
}

function jobOf(port: number, connections: number, requests: string[]): LoadJob {
  return {
    host: "127.0.0.1",
    port,
    connections,
    requests,
    expect: { status: 200, body: '"receipt_id":"rcpt_' },
  };
}

function accountsText(accounts: number): string {
  return accounts === 1 ? "one account" : `${accounts} accounts`;
}
