import pg from "pg";
import { Latencies } from "./latencies.ts";
import type { Plan } from "./measure.ts";
import { AUTHORIZE, COMMIT, CAPTURE } from "./paid-sql.ts";
import type { Counted, SqlJob } from "./sql-peer.ts";

/**
 * Stands in for pgbench where the system has none: the same statements, prepared, by the pg driver in this
 * process.
 */
export async function runSqlLoop(
  url: string,
  { kind, accounts, connections }: SqlJob,
  { windowMs, warmUpMs }: Plan,
): Promise<Counted> {
  const clients = await Promise.all(
    Array.from({ length: connections }, async () => {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      return client;
    }),
  );
  const began = performance.now() + warmUpMs;
  let calls = 0;
  const latencies = new Latencies();
  await Promise.all(
    clients.map(async (client) => {
      while (performance.now() - began < windowMs) {
        const sentAt = performance.now();
        await (kind === "commits" ? commitTwice(client) : callOnce(client, accounts));
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

async function callOnce(client: pg.Client, accounts: number): Promise<void> {
  const account = 1 + Math.floor(Math.random() * accounts);
  const started = await client.query<{ run: string }>({
    name: "begin",
    text: AUTHORIZE("$1"),
    values: [account],
  });
  await client.query({ name: "finish", text: CAPTURE("$1"), values: [started.rows[0]?.run] });
}

async function commitTwice(client: pg.Client): Promise<void> {
  for (let time = 0; time < 2; time++) await client.query({ name: "commit", text: COMMIT });
}
