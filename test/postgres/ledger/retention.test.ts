import { randomBytes, randomUUID } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { openPool } from "../../../src/postgres/database/pool.ts";
import { DELETE_EXPIRED, Retention, pauseAfter } from "../../../src/postgres/ledger/retention.ts";
import { makeAccount, openLedger, silent } from "../fixture.ts";

const { database, pool } = await openLedger();
beforeEach(() => pool.query("truncate idempotency, console_session"));

/** Expired claims of one account. */
async function expired(count: number, daysAgo = 0): Promise<void> {
  const account = await makeAccount(pool, 0n);
  await pool.query(
    `insert into idempotency (account_id, key, fingerprint, state, run_id, result, expires_at)
     select $1, 'key:' || n, sha256(''), 'done', gen_random_uuid(), '{}',
       now() - n * interval '1 second' - $3 * interval '1 day'
     from generate_series(1, $2::integer) n`,
    [account.slice(5), count, daysAgo],
  );
}

async function counted(table: "idempotency" | "console_session"): Promise<number> {
  const { rows } = await pool.query<{ count: bigint }>(`select count(*) as count from ${table}`);
  return Number(rows[0]?.count);
}

describe("expired rows", () => {
  it("are deleted in small batches with pauses", async () => {
    await expired(220);
    const left: number[] = [];
    const rest = async () => void left.push(await counted("idempotency"));
    expect(await new Retention({ pool: pool, log: silent, pause: rest }).deleteExpired(["claims"])).toBe(220);
    expect(left).toEqual([120, 20]);
    expect(await counted("idempotency")).toBe(0);
  });

  it("are deleted from where the last batch ended, and earlier ones in the next run", async () => {
    await expired(220);
    let late = expired;
    const rest = async () => {
      await late(1, 1);
      late = async () => {};
    };
    const removal = new Retention({ pool: pool, log: silent, pause: rest });
    expect(await removal.deleteExpired(["claims"])).toBe(220);
    expect(await removal.deleteExpired(["claims"])).toBe(1);
  });

  it("are deleted although another kind has many", async () => {
    await expired(320);
    const account = await makeAccount(pool, 0n);
    await pool.query(
      `insert into console_session (id, account_id, sha256, address, user_agent, created_at, last_used_at,
          expires_at)
       values ($1, $2, $3, '', '', now(), now(), now() - interval '1 second')`,
      [randomUUID(), account.slice(5), randomBytes(32)],
    );
    const left: number[] = [];
    const rest = async () => void left.push(await counted("console_session"));
    await new Retention({ pool: pool, log: silent, pause: rest }).runOnce();
    expect(left).toEqual([1, 0, 0]);
  });

  it("are kept once the instance stops", async () => {
    await expired(220);
    const resting = Promise.withResolvers<void>();
    const removal = new Retention({
      ...{ pool: pool, log: silent },
      pause: (_, signal) => {
        resting.resolve();
        return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
      },
    });
    const round = removal.runOnce();
    await resting.promise;
    removal.stop();
    await round;
    expect(await counted("idempotency")).toBe(120);
  });
});

describe("pauses of the retention job", () => {
  it("leave nearly all of the time to calls", () => {
    expect(pauseAfter(10, 1, 0)).toBeCloseTo(190);
  });

  it("grow with the number of instances, so that together they use one budget", () => {
    expect(pauseAfter(10, 4, 0)).toBeCloseTo(790);
  });

  it("shrink during a backlog, but leave half of the time", () => {
    const minute = 60_000;
    expect(
      [0, 9, 10, 20, 30, 40, 600].map((lasted) => Math.round(pauseAfter(10, 1, lasted * minute))),
    ).toEqual([190, 190, 90, 40, 15, 10, 10]);
  });

  it("use the number of instances on this database", async () => {
    const others = [randomUUID(), randomUUID()].map((id) =>
      openPool(database.url, { max: 2, applicationName: `toolgate ${id}` }),
    );
    const besides = openPool(database.url, { max: 1, applicationName: `toolgate reads ${randomUUID()}` });
    try {
      await Promise.all([...others, ...others, besides].map((pool) => pool.query("select")));
      for (const statement of Object.values(DELETE_EXPIRED)) {
        const { rows } = await pool.query<{ instances: bigint }>(statement, ["-infinity", 100]);
        expect(rows[0]?.instances).toBe(2n);
      }
    } finally {
      await Promise.all([...others, besides].map((pool) => pool.end()));
    }
  });
});
