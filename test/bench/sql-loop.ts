import pg from "pg";
import type { Plan } from "./measure.ts";
import { BEGIN, FINISH } from "./paid-sql.ts";
import type { Counted, SqlLoad } from "./sql-peer.ts";

/** Stands in for pgbench where the system has none: the same statements, prepared, by the pg driver in this process. */
export async function runSqlLoop(
  url: string,
  { accounts, connections }: SqlLoad,
  { windowMs }: Plan,
): Promise<Counted> {
  const clients = await Promise.all(
    Array.from({ length: connections }, async () => {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      return client;
    }),
  );
  const began = performance.now();
  let calls = 0;
  await Promise.all(
    clients.map(async (client) => {
      while (performance.now() - began < windowMs) {
        const account = 1 + Math.floor(Math.random() * accounts);
        const begun = await client.query<{ run: string }>({ name: "begin", text: BEGIN("$1"), values: [account] });
        await client.query({ name: "finish", text: FINISH("$1"), values: [begun.rows[0]?.run] });
        calls++;
      }
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  for (const client of clients) await client.end();
  return { calls, perSecond: calls / seconds };
}
