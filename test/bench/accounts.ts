import { randomUUID } from "node:crypto";
import { Keypair } from "@solana/web3.js";
import { parseUsdc } from "../../src/domain/core/money.ts";
import { DEFAULT_SCOPES } from "../../src/domain/accounts/scope.ts";
import { withOperatorActs } from "../support/operator-acts.ts";
import { openPostgres, type Postgres } from "../../src/postgres/index.ts";
import { systemClock, systemRandom } from "../../src/system.ts";

/** Limits that calls check and never reach. */
const UNLIMITED = { ratePerMinute: 10_000_000, burst: 10_000_000 };

/** Concurrent account creations, and connections for them. */
const AT_ONCE = 4;

/**
 * Creates accounts with a key each, like `accounts create --count`. @param usdc starting balance; undefined:
 * none. @returns the keys
 */
export async function makeAccounts(url: string, count: number, usdc: string | undefined): Promise<string[]> {
  const amount = usdc === undefined ? undefined : parseUsdc(usdc);
  const postgres = await openPostgres({
    ...{
      url,
      instanceId: randomUUID(),
      clock: systemClock,
      random: systemRandom,
      leaseMs: 60_000,
      poolSize: AT_ONCE,
    },
    log: { info: () => {}, warn: () => {}, error: () => {} },
  });
  try {
    const keys: string[] = [];
    let left = count;
    const make = async (): Promise<void> => {
      while (left-- > 0) keys.push(await makeAccount(postgres, amount));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, make));
    return keys;
  } finally {
    await postgres.close();
  }
}

async function makeAccount(postgres: Postgres, amount: bigint | undefined): Promise<string> {
  const { accounts, apiKeys } = withOperatorActs(postgres);
  const { accountId } = await accounts.create(Keypair.generate().publicKey.toBase58());
  await accounts.setTier(accountId, UNLIMITED);
  if (amount !== undefined)
    await accounts.adjust({ accountId, amount, reason: "starting balance", idempotencyKey: randomUUID() });
  const { secret } = await apiKeys.create({ accountId, name: "load test", scopes: DEFAULT_SCOPES });
  return secret;
}
