import type { Bench } from "./bench.ts";
import { callOnce, PAID_CALL, toolCallRequest } from "./http-request.ts";
import { compare, type Comparison, type Side } from "./measure.ts";
import { p99Line, throughputLine, type Line } from "./report.ts";
import { openSqlPeer, type SqlLoad } from "./sql-peer.ts";

/** Starting balance of every account: more than any run spends. */
const USDC = "1000000";

/** Connections at low, medium and full load. */
const [FEW, SOME, MANY] = [4, 16, 64];

/** Throughput relative to the lean SQL: of one account and of many. */
const LEAST: ReadonlyMap<number, readonly [number, number]> = new Map([
  [FEW, [1, 1]],
  [SOME, [2.5, 1.2]],
  [MANY, [8, 2]],
]);

/** Limits of the gateway's CPU time for a paid call, microseconds. */
const CPU_MICROS: ReadonlyMap<number, number> = new Map([
  [SOME, 160],
  [MANY, 120],
]);

/** Limit of the latency at few connections, relative to two bare commits. */
const OF_COMMITS = 2.5;

/**
 * Compares paid calls over HTTP with PostgreSQL running the leanest SQL of them, one call at a time.
 * A ratio above 1 is possible because the gateway commits calls in batches.
 */
export async function paidCalls(bench: Bench): Promise<Line[]> {
  const { world, gateway, plan, scale } = bench;
  const keys = await world.createAccounts(scale.accounts, USDC);
  const sql = await openSqlPeer(world, scale.accounts);
  const answered = (connections: number, requests: string[]): Side =>
    bench.http(
      { server: gateway.server, port: gateway.httpPort },
      { connections, requests, expect: { status: 200, body: '"receipt_id":"rcpt_' }, pinned: false },
    );
  const calls = ({ accounts, connections }: SqlLoad) =>
    answered(
      connections,
      keys.slice(0, accounts).map((key) => toolCallRequest(key, PAID_CALL)),
    );
  const lines: Line[] = [];
  for (const accounts of [1, scale.accounts]) {
    for (const connections of [FEW, ...scale.connections]) {
      const load = { accounts, connections };
      const comparison = await compare(calls(load), sql.calls(load, plan), plan);
      const title = titleOf(load);
      const least = LEAST.get(connections)?.[accounts === 1 ? 0 : 1] ?? 1;
      lines.push(throughputLine(title, comparison, sql.name, least), ...serverCpu(title, load, comparison));
    }
    const load = { accounts, connections: FEW };
    const comparison = await compare(calls(load), sql.commits(FEW, plan), plan);
    lines.push(...p99Line(titleOf(load), comparison, "two bare commits", OF_COMMITS));
  }
  return [...lines, await replays(bench, keys[0] ?? "", answered, calls({ accounts: 1, connections: MANY }))];
}

/** An absolute cost, of one account. */
function serverCpu(title: string, load: SqlLoad, { gatewayCpu }: Comparison): Line[] {
  const limit = CPU_MICROS.get(load.connections);
  if (load.accounts > 1 || limit === undefined || !gatewayCpu) return [];
  const { median, range } = gatewayCpu;
  return [
    {
      ...{ measure: `${title}: server CPU per call, us`, gateway: `${median.toFixed(0)} us` },
      ...{ peer: `${limit} us`, value: median, range, bar: { atMost: limit } },
    },
  ];
}

/** A replay only reads: it takes no lock and writes nothing. Replays of one key run one at a time. */
async function replays(
  { gateway, plan }: Bench,
  key: string,
  answered: (connections: number, requests: string[]) => Side,
  fresh: Side,
): Promise<Line> {
  const repeats = Array.from({ length: MANY }, (_, n) => ({
    ...PAID_CALL,
    idempotency_key: `answered before ${n}`,
  }));
  await Promise.all(repeats.map((call) => callOnce(gateway.httpPort, key, call, 200)));
  const requests = repeats.map((call) => toolCallRequest(key, call));
  const comparison = await compare(answered(MANY, requests), fresh, plan);
  return throughputLine(
    `replay of a paid call, one account, ${MANY} connections`,
    comparison,
    "fresh calls",
    3,
  );
}

function titleOf({ accounts, connections }: SqlLoad): string {
  return `paid call, ${accounts === 1 ? "one account" : `${accounts} accounts`}, ${connections} connections`;
}
