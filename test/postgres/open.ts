import { randomUUID } from "node:crypto";
import { openPostgres, type Postgres } from "../../src/postgres/index.ts";
import { systemClock, systemRandom } from "../../src/system.ts";

/** A whole instance with its work in the background. */
export async function openStarted(url: string, leaseMs = 15_000): Promise<Postgres> {
  const postgres = await openPostgres({
    url,
    instanceId: randomUUID(),
    clock: systemClock,
    random: systemRandom,
    leaseMs,
    log: { warn: () => {}, error: () => {} },
    poolSize: 4,
  });
  postgres.start();
  return postgres;
}
