import type { Pool } from "pg";
import { describe, expect, it } from "vitest";
import { AccountRequests } from "../../../src/app/operations/account-requests.ts";
import { RequestRecord } from "../../../src/app/operations/request-record.ts";
import type { RequestLogSettings } from "../../../src/domain/accounts/caller.ts";
import { SealedBodies } from "../../../src/domain/accounts/sealed-bodies.ts";
import { uuidOf } from "../../../src/domain/core/ids.ts";
import { PostgresRequestLog } from "../../../src/postgres/operations/request-log.ts";
import {
  MAX_COUNTED,
  MAX_KEPT,
  MAX_UNPAID_BYTES,
  RequestLogWriter,
  TRIM_EVERY,
} from "../../../src/postgres/operations/request-log-writer.ts";
import { PostgresSealingKeys } from "../../../src/postgres/payments/sealing-keys.ts";
import { Retention } from "../../../src/postgres/ledger/retention.ts";
import { systemClock, systemRandom } from "../../../src/system.ts";
import { depositOf, idOf, silent, openLedger } from "../fixture.ts";
import { newCaller } from "../../app/context.ts";

const SECRET = "a-secret-that-must-not-be-readable";

const { pool, one } = await openLedger();
const dropped: unknown[] = [];
const keys = await PostgresSealingKeys.open({ pool, clock: systemClock, random: systemRandom, log: silent });
const bodies = new SealedBodies(keys, systemRandom, "request-log");
const requests = new AccountRequests(systemClock, systemRandom, {
  count: (...counted) => void dropped.push(counted),
});
const writer = new RequestLogWriter({ pool, requests, bodies, log: silent });
const stored = new PostgresRequestLog(pool, bodies);

const ALL: RequestLogSettings = { bodies: "all", hours: 1 };

function end(accountId: string, change: Partial<RequestRecord> = {}, requestLog = ALL): void {
  const caller = newCaller({ accountId, requestLog });
  const record = new RequestRecord("http", "req_1", 0);
  const call = { caller, tool: "echo", status: 200, ms: 3.5, params: { SECRET }, result: { ok: SECRET } };
  requests.ended(Object.assign(record, call, change));
}

const NO_FILTER = {
  ...{ limit: 100, cursor: undefined, outcome: undefined, tool: undefined, keyId: undefined },
  ...{ from: undefined, to: undefined, minCharged: undefined },
};

describe("the request log", () => {
  it("returns params and result to their account, and no byte of them is readable in the database", async () => {
    const accountId = await one.account();
    end(accountId);
    await writer.flush();
    const { items } = await stored.list({ ...NO_FILTER, accountId });
    expect(items).toMatchObject([{ requestId: "req_1", tool: "echo", status: 200, ms: 3.5, repeats: 0 }]);
    const found = await stored.find(accountId, items[0]?.id ?? "");
    expect(found?.body).toMatchObject({ params: { SECRET }, result: { ok: SECRET }, omitted: [] });
    const { rows } = await pool.query<{ row: string }>(
      "select row_to_json(r)::text || encode(sealed, 'escape') as row from request_log r",
    );
    expect(rows).toHaveLength(1);
    expect(rows[0]?.row).not.toContain(SECRET);
  });

  it("finds nothing of another account, by entry and by request", async () => {
    const [own, other] = [await one.account(), await one.account()];
    end(own, { requestId: "req_own" });
    await writer.flush();
    const [item] = (await stored.list({ ...NO_FILTER, accountId: own })).items;
    expect(await stored.find(own, "req_own")).toMatchObject({ id: item?.id });
    expect(await stored.find(other, "req_own")).toBeUndefined();
    expect(await stored.find(other, item?.id ?? "")).toBeUndefined();
    expect(await stored.delete(other, item?.id)).toBe(0);
    expect(await stored.delete(other, undefined)).toBe(0);
    expect((await stored.list({ ...NO_FILTER, accountId: other })).items).toEqual([]);
    expect(await stored.find(own, "req_own")).toBeDefined();
  });

  it("opens params in the row that they were sealed for only", async () => {
    const [own, other] = [await one.account(), await one.account()];
    end(own);
    end(other);
    end(own);
    await writer.flush();
    const [first, second] = (await stored.list({ ...NO_FILTER, accountId: own })).items;
    const [third] = (await stored.list({ ...NO_FILTER, accountId: other })).items;
    for (const [to, accountId] of [
      [second?.id, own],
      [third?.id, other],
    ] as const) {
      await pool.query(
        `update request_log set sealed = (select sealed from request_log where id = $1) where id = $2`,
        [uuidOf("log", first?.id ?? ""), uuidOf("log", to ?? "")],
      );
      expect((await stored.find(accountId, to ?? ""))?.body?.params).toBeUndefined();
    }
  });

  it("pages by cursor and filters by outcome, tool, time and cost", async () => {
    const accountId = await one.account();
    end(accountId, { status: 402, code: "PAYMENT_REQUIRED" });
    end(accountId, { status: 403, code: "FORBIDDEN" });
    end(accountId, { status: 503, tool: "paid" });
    end(accountId, { charged: 5n, runId: idOf("run") });
    await writer.flush();
    const statuses = async (filter: object) =>
      (await stored.list({ ...NO_FILTER, ...filter, accountId })).items
        .map(({ status }) => status)
        .toSorted((one, other) => one - other);
    expect(await statuses({})).toEqual([200, 402, 403, 503]);
    expect(await statuses({ outcome: "succeeded" })).toEqual([200]);
    expect(await statuses({ outcome: "payment_required" })).toEqual([402]);
    expect(await statuses({ outcome: "refused" })).toEqual([403]);
    expect(await statuses({ outcome: "failed" })).toEqual([503]);
    expect(await statuses({ tool: "paid" })).toEqual([503]);
    expect(await statuses({ minCharged: 5n })).toEqual([200]);
    expect(await statuses({ to: new Date(0) })).toEqual([]);
    const first = await stored.list({ ...NO_FILTER, accountId, limit: 3 });
    const rest = await stored.list({ ...NO_FILTER, accountId, limit: 3, cursor: first.nextCursor });
    expect(new Set([...first.items, ...rest.items].map(({ id }) => id)).size).toBe(4);
    expect(rest).toMatchObject({ items: [{}], nextCursor: undefined });
  });

  it("deletes one request or all at once", async () => {
    const accountId = await one.account();
    for (let sent = 0; sent < 3; sent++) end(accountId);
    await writer.flush();
    const [item] = (await stored.list({ ...NO_FILTER, accountId })).items;
    expect(await stored.delete(accountId, item?.id)).toBe(1);
    expect(await stored.delete(accountId, "key_1")).toBe(0);
    expect(await stored.delete(accountId, undefined)).toBe(2);
    expect((await stored.list({ ...NO_FILTER, accountId })).items).toEqual([]);
  });

  it("hides expired requests at once and deletes them", async () => {
    const accountId = await one.account();
    end(accountId);
    end(accountId, {}, { bodies: "all", hours: 2 });
    await writer.flush();
    const count = async () =>
      (await pool.query("select from request_log where account_id = $1", [uuidOf("acct", accountId)]))
        .rowCount;
    const uuid = uuidOf("acct", accountId);
    await pool.query(
      "update request_log set received_at = received_at - interval '90 minutes' where account_id = $1",
      [uuid],
    );
    await stored.setSettings(accountId, { bodies: "none", hours: 1 });
    expect(await stored.settings(accountId)).toEqual({ bodies: "none", hours: 1 });
    const { items } = await stored.list({ ...NO_FILTER, accountId });
    expect(items).toEqual([]);
    expect(await count()).toBe(2);
    await new Retention({ pool, log: silent }).deleteExpired(["requests"]);
    expect(await count()).toBe(0);
  });

  it("keeps the newest requests of an account", async () => {
    const accountId = await one.account();
    await pool.query(
      `insert into request_log (account_id, id, request_id, transport, method, status, charged, total_us,
         tool_us, payment_us, repeats, received_at, expires_at)
       select $1, ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'req', 'http', 'm', 402, 0,
         0, 0, 0, 0, now(), now() + interval '1 hour' from generate_series(1, $2) n`,
      [uuidOf("acct", accountId), MAX_KEPT],
    );
    for (let sent = 0; sent < TRIM_EVERY; sent++) end(accountId, { runId: idOf("run") });
    await writer.flush();
    const { rows } = await pool.query<{ kept: bigint; newest: bigint }>(
      `select count(*) as kept, count(*) filter (where request_id = 'req_1') as newest
       from request_log where account_id = $1`,
      [uuidOf("acct", accountId)],
    );
    expect(rows).toEqual([{ kept: BigInt(MAX_KEPT), newest: BigInt(TRIM_EVERY) }]);
  });

  it("counts the rows of a limited number of accounts", async () => {
    const statements: string[] = [];
    const query = async ({ name }: { name: string }) => void statements.push(name);
    const counting = new RequestLogWriter({
      pool: { query } as unknown as Pool,
      requests,
      bodies,
      log: silent,
    });
    const write = async (accountIds: string[]) => {
      while (accountIds.length > 0) {
        for (const accountId of accountIds.splice(0, TRIM_EVERY)) end(accountId);
        await counting.flush();
      }
    };
    const accountId = idOf("acct");
    const almost = () => Array<string>(TRIM_EVERY - 1).fill(accountId);
    await write(almost());
    await write(Array.from({ length: MAX_COUNTED }, () => idOf("acct")));
    await write([accountId]);
    expect(statements).not.toContain("request-log-trim");
    await write(almost());
    expect(statements).toContain("request-log-trim");
  });

  it("keeps 20 MB of the newest requests of an account until it paid, then 200 MB", async () => {
    const [accountId, customer] = [await one.account(), await one.account()];
    await one.ledger.credit(customer, depositOf());
    const size = 100_000;
    for (const account of [accountId, customer])
      await pool.query(
        `insert into request_log (account_id, id, request_id, transport, method, status, charged, total_us,
           tool_us, payment_us, repeats, key_version, sealed, received_at, expires_at)
         select $1, ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, n, 'http', 'm', 402, 0,
           0, 0, 0, 0, 1, decode(repeat('00', $2), 'hex'), now(), now() + interval '1 hour'
         from generate_series(1, 250) n`,
        [uuidOf("acct", account), size],
      );
    // Two parts of 16,000 characters, three bytes each: 21 rows are more than 2 MB.
    const large = { text: "€".repeat(16_000) };
    for (let sent = 0; sent < 21; sent++)
      for (const account of [accountId, customer])
        end(account, { runId: idOf("run"), params: large, result: large });
    await writer.flush();
    const kept = async (account: string) => {
      const { rows } = await pool.query<{ request: string; count: number; bytes: number }>(
        `select min(request_id::integer) filter (where request_id <> 'req_1') as request,
           count(*)::integer as count, sum(500 + octet_length(sealed))::integer as bytes
         from request_log where account_id = $1`,
        [uuidOf("acct", account)],
      );
      return rows[0];
    };
    const { request, count, bytes } = (await kept(accountId)) ?? {};
    expect(bytes).toBeLessThanOrEqual(MAX_UNPAID_BYTES);
    expect(bytes).toBeGreaterThan(MAX_UNPAID_BYTES - size - 500);
    expect(count).toBe(21 + 250 - Number(request) + 1);
    expect(await kept(customer)).toMatchObject({ request: 1, count: 271 });
  });

  it("writes a burst in small statements with pauses, so that other calls do not wait for it", async () => {
    const accountId = await one.account();
    for (let sent = 0; sent < 250; sent++) end(accountId);
    const began = performance.now();
    await writer.flush(100);
    // The last one begins after four fifths.
    expect(performance.now() - began).toBeGreaterThan(75);
    const { rows } = await pool.query<{ written: bigint }>(
      "select count(*) as written from request_log where account_id = $1 group by xmin order by written desc",
      [uuidOf("acct", accountId)],
    );
    expect(rows.map(({ written }) => Number(written))).toEqual([100, 100, 50]);
  });

  it("holds a bounded number of requests while the table cannot be written, and writes them then", async () => {
    const accountIds = await Promise.all(Array.from({ length: 6 }, () => one.account()));
    dropped.length = 0;
    const blocking = await pool.connect();
    await blocking.query("begin; lock table request_log");
    end(accountIds[0] ?? "", { runId: idOf("run") });
    const blocked = writer.flush();
    try {
      for (const accountId of accountIds)
        for (let sent = 0; sent < 1_000; sent++) end(accountId, { runId: idOf("run"), params: undefined });
      expect(dropped.length).toBe(1_000);
    } finally {
      await blocking.query("rollback");
      blocking.release();
    }
    await blocked;
    await writer.flush();
    const { rowCount } = await pool.query("select from request_log where account_id = any ($1::uuid[])", [
      accountIds.map((accountId) => uuidOf("acct", accountId)),
    ]);
    expect(rowCount).toBe(5_001);
  });

  it("drops and counts what the database does not take, after one failed statement", async () => {
    const accountId = await one.account();
    dropped.length = 0;
    end(accountId, { method: "\0" });
    for (let sent = 0; sent < 249; sent++) end(accountId);
    await writer.flush();
    expect(dropped).toEqual([["toolgate_request_log_dropped_total", 250, { reason: "database" }]]);
  });
});
