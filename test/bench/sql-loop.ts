import pg from "pg";
import { Latencies } from "./latencies.ts";
import type { Plan } from "./measure.ts";
import type { Counted, SqlJob } from "./sql-peer.ts";

/**
 * Replaces pgbench if the system has none: the same prepared statements, by the pg driver in this process.
 */
export async function runSqlLoop(
  url: string,
  { statements, accounts, connections }: SqlJob,
  { windowMs, warmUpMs }: Plan,
): Promise<Counted> {
  const clients = await Promise.all(
    Array.from({ length: connections }, async () => {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      return client;
    }),
  );
  const prepared = statements.map(prepare);
  const began = performance.now() + warmUpMs;
  let calls = 0;
  const latencies = new Latencies();
  await Promise.all(
    clients.map(async (client) => {
      while (performance.now() - began < windowMs) {
        const sentAt = performance.now();
        let values: Values = { account: 1 + Math.floor(Math.random() * accounts) };
        for (const { names, ...statement } of prepared) {
          const query = { ...statement, values: names.map((name) => values[name]) };
          values = { ...values, ...(await client.query<Values>(query)).rows[0] };
        }
        if (performance.now() < began) continue;
        latencies.count(performance.now() - sentAt);
        calls++;
      }
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  for (const client of clients) await client.end();
  return { calls, perSecond: calls / seconds, latencies };
}

type Values = Readonly<Record<string, unknown>>;

/** Numbers the variables of a statement for the driver. */
function prepare(statement: string, index: number) {
  const names: string[] = [];
  const text = statement.replaceAll(/:(\w+)/g, (_, name: string) => {
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  return { name: `statement ${index}`, text, names };
}
