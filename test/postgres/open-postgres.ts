import { randomUUID } from "node:crypto";
import type { Pool } from "pg";
import type { Clock } from "../../src/domain/core/clock.ts";
import { openPostgres, type Postgres } from "../../src/postgres/index.ts";
import { PostgresSealingKeys } from "../../src/postgres/payments/sealing-keys.ts";
import { systemClock, systemRandom } from "../../src/system.ts";

/** A full instance with background work. */
export async function openStarted(url: string, leaseMs = 15_000): Promise<Postgres> {
  const postgres = await openPostgres({
    url,
    instanceId: randomUUID(),
    clock: systemClock,
    random: systemRandom,
    leaseMs,
    log: { info: () => {}, warn: () => {}, error: () => {} },
    poolSize: 4,
  });
  postgres.start();
  return postgres;
}

/** The secrets that sign API keys of this database. */
export function openKeySecrets(pool: Pool, clock: Clock = systemClock): Promise<PostgresSealingKeys> {
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  return PostgresSealingKeys.open({ pool, clock, random: systemRandom, log, table: "api_key_secret" });
}
