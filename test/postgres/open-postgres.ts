import { randomUUID } from "node:crypto";
import type { Pool } from "pg";
import type { Clock } from "../../src/domain/core/clock.ts";
import { openPostgres, type Postgres } from "../../src/postgres/index.ts";
import { PostgresSealingKeys } from "../../src/postgres/payments/sealing-keys.ts";
import { systemClock, systemRandom } from "../../src/system.ts";
import { silent } from "./fixture.ts";

/** A full instance with background work. */
export async function openStarted(
  url: string,
  options: Partial<Parameters<typeof openPostgres>[0]> = {},
): Promise<Postgres> {
  const postgres = await openPostgres({
    url,
    instanceId: randomUUID(),
    clock: systemClock,
    random: systemRandom,
    leaseMs: 15_000,
    log: silent,
    poolSize: 4,
    ...options,
  });
  postgres.start();
  return postgres;
}

/** The secrets that sign API keys of this database. */
export function openKeySecrets(pool: Pool, clock: Clock = systemClock): Promise<PostgresSealingKeys> {
  return PostgresSealingKeys.open({
    pool,
    clock,
    random: systemRandom,
    log: silent,
    table: "api_key_secret",
  });
}
