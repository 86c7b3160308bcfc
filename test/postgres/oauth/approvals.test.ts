import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { CallAuthorization } from "../../../src/app/calls/ledger.ts";
import { uuidOf } from "../../../src/domain/core/ids.ts";
import { PostgresApprovals } from "../../../src/postgres/oauth/approvals.ts";
import { systemRandom } from "../../../src/system.ts";
import { callOf, expectCleanAudit, fingerprintOf, openLedger, PRICE, type TestKey } from "../fixture.ts";

const { one, instances, pool } = await openLedger();
const approvals = new PostgresApprovals({ pool, random: systemRandom });
const NEVER = new AbortController().signal;

/** A grant whose daily limit is used up, and a call of it that was asked for. */
async function spentGrant() {
  const account = await one.account(100n * PRICE);
  const key = await one.key(account, { perDay: PRICE });
  await one.buy(account, key);
  const call = callOf(account, { ...key, fingerprint: fingerprintOf(`call ${key.keyId}`) });
  const asked = await approvals.ask({ ...call, params: "{}" });
  return { account, key, call, id: asked?.id ?? "" };
}

const again = (call: CallAuthorization, change: Partial<CallAuthorization> = {}) => {
  const { runId: _, requestId: __, ...same } = call;
  return callOf(call.accountId, { ...same, ...change });
};

async function records({ keyId }: TestKey): Promise<number> {
  const text = "select count(*)::int as n from oauth_record where key_id = $1 and model = 'Approval'";
  return (await pool.query<{ n: number }>(text, [uuidOf("key", keyId)])).rows[0]?.n ?? 0;
}

const joinGroup = (key: TestKey, limit: bigint) =>
  pool.query(
    `with made as (
       insert into budget (id, account_id, name, day, month, day_limit)
       select $2, account_id, 'CI', (now() at time zone 'utc')::date,
         date_trunc('month', now() at time zone 'utc'), $3 from api_key where id = $1 returning id)
     update api_key set group_id = made.id from made where api_key.id = $1`,
    [uuidOf("key", key.keyId), randomBytes(16).toString("hex"), limit],
  );

describe("a call that was allowed once", () => {
  it("runs once, of 60 on three instances at the same time", async () => {
    const { account, key, call, id } = await spentGrant();
    expect(await approvals.decide(id, account, "allowed")).toBe(true);
    const calls = instances.flatMap(({ ledger }) =>
      Array.from({ length: 20 }, () => ledger.authorize(again(call))),
    );
    const kinds = (await Promise.all(calls)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "started")).toHaveLength(1);
    expect(kinds.filter((kind) => kind === "capped")).toHaveLength(59);
    expect(await one.balance(account)).toBe(98n * PRICE);
    expect(await records(key)).toBe(0);
    await expectCleanAudit(pool);
  });

  it.each<[string, Partial<CallAuthorization>, string?]>([
    ["at a lower price", { price: PRICE - 1n }, "started"],
    ["at a higher price", { price: PRICE + 1n }],
    ["with other parameters", { fingerprint: fingerprintOf("other") }],
    ["that the balance does not cover", { price: 1n }, "insufficient"],
  ])("%s is decided as such", async (name, change, kind = "capped") => {
    const { account, key, call, id } = await spentGrant();
    await approvals.decide(id, account, "allowed");
    if (kind === "insufficient") await one.buy(account, { price: 99n * PRICE });
    expect([name, (await one.ledger.authorize(again(call, change))).kind]).toEqual([name, kind]);
    expect(await records(key)).toBe(kind === "started" ? 0 : 1);
  });

  it.each<[string, (grant: Awaited<ReturnType<typeof spentGrant>>) => Promise<unknown>]>([
    ["is not decided yet", async () => {}],
    ["was refused", ({ id, account }) => approvals.decide(id, account, "refused")],
    [
      "was allowed by another account",
      async ({ id }) => approvals.decide(id, await one.account(), "allowed"),
    ],
    [
      "was allowed too long ago",
      async ({ id, account, key }) => {
        await approvals.decide(id, account, "allowed");
        await pool.query("update oauth_record set expires_at = now() where key_id = $1", [
          uuidOf("key", key.keyId),
        ]);
      },
    ],
    [
      "is beyond the limit of a group, too",
      async ({ id, account, key }) => {
        await approvals.decide(id, account, "allowed");
        await joinGroup(key, PRICE - 1n);
      },
    ],
    [
      "may not use that tool any more",
      async ({ id, account, key }) => {
        await approvals.decide(id, account, "allowed");
        await pool.query("update api_key set tools = '{other}' where id = $1", [uuidOf("key", key.keyId)]);
      },
    ],
  ])("is refused where it %s", async (_, prepare) => {
    const grant = await spentGrant();
    await prepare(grant);
    expect(["capped", "excluded"]).toContain((await one.ledger.authorize(again(grant.call))).kind);
    expect(await one.balance(grant.account)).toBe(99n * PRICE);
  });

  it("is found beyond a limit per call, also where the key has no other", async () => {
    const account = await one.account(100n * PRICE);
    const key = await one.key(account);
    await pool.query("update api_key set call_limit = 1 where id = $1", [uuidOf("key", key.keyId)]);
    const call = callOf(account, key);
    const { id } = (await approvals.ask({ ...call, params: "{}" })) ?? { id: "" };
    expect(await one.ledger.isAllowedOnce(call)).toBe(false);
    await approvals.decide(id, account, "allowed");
    expect(await one.ledger.isAllowedOnce(call)).toBe(true);
    const kinds = [];
    for (let n = 0; n < 2; n++)
      kinds.push((await one.ledger.authorize(again(call, { budgeted: true }))).kind);
    expect(kinds).toEqual(["started", "capped"]);
  });
});

describe("requests of a grant", () => {
  it("are at most five, and one for each call", async () => {
    const { account, key, call, id } = await spentGrant();
    expect(await approvals.ask({ ...call, params: "{}" })).toEqual({ id, state: "asked", isNew: false });
    const asked = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        approvals.ask({ ...call, fingerprint: fingerprintOf(String(n)), params: "{}" }),
      ),
    );
    expect(asked.filter((one) => one !== undefined)).toHaveLength(4);
    expect(await records(key)).toBe(5);
    await approvals.withdraw(id, account);
    expect(await records(key)).toBe(4);
  });

  it("are decided once and shown to their account only", async () => {
    const { account, id, call } = await spentGrant();
    const shown = { tool: call.tool, params: "{}", price: PRICE, keyId: call.keyId };
    expect(await approvals.find(id, account)).toMatchObject({ ...shown, state: "asked" });
    expect(await approvals.find(id, await one.account())).toBeUndefined();
    const decided = await Promise.all(
      (["allowed", "refused", "allowed"] as const).map((decision) => approvals.decide(id, account, decision)),
    );
    expect(decided.filter(Boolean)).toHaveLength(1);
    await pool.query("update api_key set revoked_at = now() where id = $1", [uuidOf("key", call.keyId)]);
    expect(await approvals.find(id, account)).toBeUndefined();
  });

  it("are waited for until they are decided, or the waiting ends", async () => {
    const { account, id } = await spentGrant();
    expect(await approvals.settled(id, 1, NEVER)).toBe(false);
    expect(await approvals.settled(id, 600_000, AbortSignal.abort())).toBe(false);
    const waiting = approvals.settled(id, 600_000, NEVER);
    await approvals.decide(id, account, "refused");
    expect(await waiting).toBe(true);
  });
});
