import { z } from "zod";
import { fillLedger, sealMonths } from "../../postgres/large-ledger.ts";
import type { Bench, Part, Target } from "../bench.ts";
import { useLedger, type GrownLedger } from "../grown-ledger.ts";
import { PAID_ANSWER, PAID_CALL, toolCallRequest } from "../http-request.ts";
import { compare } from "../measure.ts";
import { line, type Line } from "../report.ts";

/** Low load: measures latency, not throughput. */
const CONNECTIONS = 2;
/** Receipts on a page: few enough that the smallest ledger has the far page. */
const LIMIT = 12;

const page = z.object({ next_cursor: z.string() });

interface Grown extends GrownLedger {
  readonly gateway: Target;
}

/** What a ledger is asked: whole requests, taken in turn, no more than the small ledger has. */
interface Question {
  readonly name: string;
  readonly requests: (ledger: Grown, small: Grown) => Promise<string[]> | string[];
  readonly body: string;
}

/** Calls and lists on a large ledger, and the same on a small one. */
export const growth: Part = {
  name: "growth",
  title: "10. growth to 1,000,000 transfers",
  why: "Operators: whether a long history slows the gateway",
  async run(bench) {
    const [few, many] = bench.plan.quick ? [1_000, 2_000] : [10_000, 1_000_000];
    const small = await grow(bench, few);
    const large = await grow(bench, many);
    const lines: Line[] = [];
    for (const { name, requests, body } of questions(bench.plan.quick ? 5 : 100)) {
      const side = async (ledger: Grown) =>
        bench.side(ledger.gateway, {
          ...{ connections: CONNECTIONS, requests: await requests(ledger, small) },
          expect: { status: 200, body },
        });
      const rounds = await compare(await side(large), await side(small), bench.plan);
      lines.push(line(`${name}, p50`, rounds, `${few.toLocaleString("en")} transfers`, ["p50Ms"]));
    }
    return lines;
  },
};

/** A gateway on a ledger of that size. */
async function grow(bench: Bench, transfers: number): Promise<Grown> {
  const accounts = bench.plan.quick ? 100 : 100_000;
  const databaseUrl = await bench.world.createDatabase(`grown_${transfers}`);
  await fillLedger(databaseUrl, transfers, accounts);
  const ledger = await useLedger(databaseUrl, transfers, accounts);
  await sealMonths(databaseUrl);
  // An audit of the large ledger would run beside the measurement.
  return { ...ledger, gateway: await bench.serve({ databaseUrl, env: { AUDIT_INTERVAL_SECONDS: "0" } }) };
}

function questions(farPage: number): Question[] {
  return [
    {
      name: "paid call",
      requests: ({ keys }, small) =>
        spread(keys, small.keys.length).map((key) => toolCallRequest(key, PAID_CALL)),
      body: PAID_ANSWER.body,
    },
    {
      name: "replay of an old answer",
      requests: ({ replays }, small) =>
        spread(replays, small.replays.length).map(({ key, idempotencyKey }) =>
          toolCallRequest(key, { ...PAID_CALL, idempotency_key: idempotencyKey }),
        ),
      body: '"note":"xxx',
    },
    receipts(1),
    receipts(farPage),
  ];
}

/** A page of receipts of the account with the most. */
function receipts(pageNumber: number): Question {
  return {
    name: `receipts, page ${pageNumber}`,
    async requests({ keys: [key = ""], gateway: { port } }) {
      let path = `/receipts?limit=${LIMIT}`;
      for (let n = 1; n < pageNumber; n++) {
        const headers = { authorization: `Bearer ${key}` };
        const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
        path = `/receipts?limit=${LIMIT}&cursor=${page.parse(await answer.json()).next_cursor}`;
      }
      return [`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n\r\n`];
    },
    body: '"has_more":true',
  };
}

/** At most that many of them, evenly spaced, so that a large ledger is asked no more than a small one. */
function spread<Item>(items: readonly Item[], count: number): Item[] {
  const every = Math.max(1, Math.floor(items.length / count));
  return items.filter((_, n) => n % every === 0).slice(0, count);
}
