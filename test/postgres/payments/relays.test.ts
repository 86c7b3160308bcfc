import { randomBytes, randomUUID } from "node:crypto";
import { base58 } from "@scure/base";
import { describe, expect, it } from "vitest";
import type {
  NewRelayClaim,
  RelayLimits,
  RelayState,
  RelayVerdict,
} from "../../../src/app/payments/gasless/relay-claims.ts";
import { idFromUuid, uuidFromId } from "../../../src/postgres/database/row-mapping.ts";
import { PostgresRelays } from "../../../src/postgres/payments/relays.ts";
import { servingUrl, closing } from "../../support/postgres.ts";
import {
  callOf,
  completed,
  depositOf,
  expectCleanAudit,
  openInstance,
  paymentOf,
  PRICE,
  openLedger,
} from "../fixture.ts";
import { movementOf, watchedAccount } from "../treasury/treasury-fixture.ts";

/** Relay claims on three instances, with production grants. */
const { database, one: owner } = await openLedger();
const instances = Array.from({ length: 3 }, () => {
  const instance = closing(openInstance(database.servingUrl));
  return { instance, relays: new PostgresRelays(instance.pool) };
});
const [{ instance: serving, relays }] = instances as [(typeof instances)[number]];

const PLENTY: RelayLimits = {
  dailyLamports: 1_000_000_000_000n,
  perAccountHourly: 1_000_000,
  failuresHourly: 1_000_000,
};
const MINUTE_MS = 60_000;

/** The wire bytes that the database reads: two signatures, and a message with the payer as second account. */
function bytesOf(payer: Buffer, version: "legacy" | "v0" = "v0"): Buffer {
  const opening = version === "v0" ? Buffer.of(0x80, 2, 0, 1, 7) : Buffer.of(2, 0, 1, 7);
  return Buffer.concat([Buffer.of(2), randomBytes(128), opening, randomBytes(32), payer, randomBytes(100)]);
}

function claimOf(change: Partial<NewRelayClaim> = {}): NewRelayClaim {
  return {
    messageHash: randomBytes(32),
    quoteId: `qt_${base58.encode(randomBytes(16))}`,
    accountId: idFromUuid("acct", randomUUID()),
    keyId: idFromUuid("key", randomUUID()),
    txSignature: base58.encode(randomBytes(64)),
    signedTransaction: bytesOf(randomBytes(32)),
    feeLamports: 10_000n,
    lastValidBlockHeight: 1_000n,
    ...change,
  };
}

/** Alternates between instances. */
const at = (n: number) => instances[n % instances.length]!.relays;

/** Concurrent claims on all instances and connections. */
function claimAtOnce(claims: readonly NewRelayClaim[], limits = PLENTY) {
  return Promise.all(claims.map((claim, n) => at(n).claim(claim, limits)));
}

async function claimed(change: Partial<NewRelayClaim> = {}): Promise<NewRelayClaim> {
  const claim = claimOf(change);
  expect(await relays.claim(claim, PLENTY)).toMatchObject({ kind: "claimed" });
  return claim;
}

async function claimedIn(state: RelayState): Promise<NewRelayClaim> {
  const claim = await claimed();
  if (state !== "claimed") await relays.move(claim.messageHash, "broadcast");
  if (state !== "claimed" && state !== "broadcast") await relays.move(claim.messageHash, state);
  return claim;
}

/** Backdates the claim and the start of its key's hour. */
async function age({ messageHash }: NewRelayClaim, interval: string): Promise<void> {
  const text = `update relay set claimed_at = claimed_at - $2::interval, moved_at = moved_at - $2::interval
      where message_hash = $1`;
  await owner.pool.query(text, [messageHash, interval]);
}

/** Adds relayed payments of three days ago to the account, each from another wallet. */
async function settled(accountId: string, count: number): Promise<void> {
  const random = (bytes: number) => Array.from({ length: count }, () => randomBytes(bytes));
  await owner.pool.query(
    `insert into relay select hash, 'qt_' || encode(hash, 'hex'), $1::uuid, $1::uuid, signature, bytes, 0,
        1, 'confirmed', null, at, at
     from unnest($2::bytea[], $3::bytea[], $4::bytea[]) relayed (hash, signature, bytes),
       lateral (select now() - interval '3 days' as at) past`,
    [uuidFromId("acct", accountId), random(32), random(64), random(32).map((payer) => bytesOf(payer))],
  );
}

/** A claim that was sent and ended in that state. */
async function ended(state: "confirmed" | "failed", change: Partial<NewRelayClaim> = {}, reason?: string) {
  const claim = await claimed(change);
  await relays.move(claim.messageHash, "broadcast");
  await relays.move(claim.messageHash, state, reason);
  return claim;
}

const kindOf = (verdict: RelayVerdict) => ("of" in verdict ? verdict.of : verdict.kind);

const stateOf = async ({ messageHash }: NewRelayClaim) => (await relays.find(messageHash))?.state;

describe("a relay claim", () => {
  it("is found by its message on every instance, with the signed bytes", async () => {
    const claim = await claimed();
    const found = await at(1).find(claim.messageHash);
    const { messageHash, quoteId, txSignature, signedTransaction, lastValidBlockHeight } = claim;
    const same = { messageHash, quoteId, txSignature, signedTransaction, lastValidBlockHeight };
    expect(found).toMatchObject({ ...same, state: "claimed", reason: undefined });
    expect(Math.abs(Date.now() - (found?.claimedAt ?? 0))).toBeLessThan(MINUTE_MS);
    expect(await relays.find(randomBytes(32))).toBeUndefined();
  });

  it("is granted to one of fifty concurrent transactions for a quote", async () => {
    const quoteId = "qt_wanted";
    const claims = Array.from({ length: 50 }, () => claimOf({ quoteId }));
    const verdicts = await claimAtOnce(claims);
    const winner = claims[verdicts.findIndex(({ kind }) => kind === "claimed")];
    expect(verdicts.filter(({ kind }) => kind === "claimed")).toHaveLength(1);
    const taken = verdicts.filter(({ kind }) => kind === "quote_taken");
    expect(taken).toEqual(
      Array.from({ length: 49 }, () => ({ kind: "quote_taken", txSignature: winner?.txSignature })),
    );
  });

  it("is granted once to fifty concurrent requests with the same transaction, and costs once", async () => {
    const before = await relays.spentToday();
    const claim = claimOf();
    const verdicts = await claimAtOnce(Array.from({ length: 50 }, () => claim));
    expect(verdicts.map(({ kind }) => kind).toSorted()).toEqual([
      "claimed",
      ...Array<string>(49).fill("known"),
    ]);
    expect(await relays.spentToday()).toBe(before + claim.feeLamports);
  });

  it("frees its quote for another transaction after it failed, and stays known", async () => {
    const first = await claimed();
    expect(await relays.reject(first.messageHash, "it would\0 fail")).toBe(true);
    const second = claimOf({ quoteId: first.quoteId });
    expect(await relays.claim(second, PLENTY)).toMatchObject({ kind: "claimed" });
    expect(await relays.claim(first, PLENTY)).toMatchObject({
      kind: "known",
      claim: { state: "failed", reason: "it would fail" },
    });
    for (const state of ["broadcast", "confirmed"] as const) {
      await relays.move(second.messageHash, state);
      const third = await relays.claim(claimOf({ quoteId: first.quoteId }), PLENTY);
      expect(third).toEqual({ kind: "quote_taken", txSignature: second.txSignature });
    }
  });
});

describe("the daily relay budget", () => {
  it("is never exceeded by concurrent claims", async () => {
    const spent = await relays.spentToday();
    const limits = { ...PLENTY, dailyLamports: spent + 7n * 10_000n + 9_999n };
    const accountId = idFromUuid("acct", randomUUID());
    await settled(accountId, 40);
    const verdicts = await claimAtOnce(
      Array.from({ length: 40 }, () => claimOf({ accountId })),
      limits,
    );
    expect(verdicts.filter(({ kind }) => kind === "claimed")).toHaveLength(7);
    expect(await relays.spentToday()).toBe(spent + 70_000n);
    const refused = verdicts.find(({ kind }) => kind === "budget");
    const untilMidnight = 86_400 - ((Date.now() / 1_000) % 86_400);
    expect(refused).toMatchObject({ kind: "budget" });
    if (refused?.kind === "budget")
      expect(Math.abs(refused.retryAfterSeconds - untilMidnight)).toBeLessThan(60);
    // A cheaper one still fits.
    expect(await relays.claim(claimOf({ accountId, feeLamports: 9_999n }), limits)).toMatchObject({
      kind: "claimed",
    });
  });

  it("gets back the fee of a transaction that was never sent, once, and no other fee", async () => {
    const before = await relays.spentToday();
    const unsent = await claimed();
    const rejected = await Promise.all(
      instances.map(({ relays: each }) => each.reject(unsent.messageHash, "no")),
    );
    expect(rejected.filter(Boolean)).toHaveLength(1);
    expect(await relays.spentToday()).toBe(before);
    const sent = await claimed();
    await relays.move(sent.messageHash, "broadcast");
    expect(await relays.reject(sent.messageHash, "too late")).toBe(false);
    expect(await relays.move(sent.messageHash, "failed", "insufficient funds")).toBe(true);
    expect(await relays.find(sent.messageHash)).toMatchObject({
      state: "failed",
      reason: "insufficient funds",
    });
    expect(await relays.spentToday()).toBe(before + sent.feeLamports);
  });
});

describe("the relay quota of an account", () => {
  it("is never exceeded by concurrent requests of its keys, and is separate per account", async () => {
    const accountId = idFromUuid("acct", randomUUID());
    await settled(accountId, 10);
    const limits = { ...PLENTY, perAccountHourly: 5 };
    const claims = Array.from({ length: 30 }, () => claimOf({ accountId }));
    const verdicts = await claimAtOnce(claims, limits);
    expect(verdicts.filter(({ kind }) => kind === "claimed")).toHaveLength(5);
    const refused = verdicts.filter(({ kind }) => kind === "quota");
    expect(refused).toHaveLength(25);
    expect(refused[0]).toMatchObject({ of: "transactions" });
    expect(await relays.claim(claimOf(), limits)).toMatchObject({ kind: "claimed" });
    const oldest = claims[verdicts.findIndex(({ kind }) => kind === "claimed")]!;
    await age(oldest, "59 minutes");
    const [wait] = await claimAtOnce([claimOf({ accountId })], limits);
    expect(wait).toMatchObject({ kind: "quota" });
    if (wait?.kind === "quota") expect(wait.retryAfterSeconds).toBeLessThanOrEqual(60);
    await age(oldest, "1 minute");
    expect(await relays.claim(claimOf({ accountId }), limits)).toMatchObject({ kind: "claimed" });
    expect(await relays.claim(claimOf(), { ...PLENTY, perAccountHourly: 0 })).toMatchObject({
      kind: "quota",
    });
  });

  it("is smaller when its transactions fail", async () => {
    const accountId = idFromUuid("acct", randomUUID());
    const limits = { ...PLENTY, failuresHourly: 2 };
    for (let failures = 0; failures < 2; failures++) {
      const claim = claimOf({ accountId });
      expect(await relays.claim(claim, limits)).toMatchObject({ kind: "claimed" });
      await relays.reject(claim.messageHash, "it would fail");
    }
    const refused = await relays.claim(claimOf({ accountId }), limits);
    expect(refused).toMatchObject({ kind: "quota", of: "failures" });
    if (refused.kind === "quota") expect(Math.abs(refused.retryAfterSeconds - 3_600)).toBeLessThan(120);
  });
});

describe("the cost of failing payments", () => {
  const accountOf = () => idFromUuid("acct", randomUUID());

  it.each(["account", "wallet"] as const)(
    "is two fees for a new %s, whatever it sends at once",
    async (who) => {
      const [accountId, payer] = [accountOf(), randomBytes(32)];
      const mine = () => claimOf(who === "account" ? { accountId } : { signedTransaction: bytesOf(payer) });
      const claims = Array.from({ length: 100 }, mine);
      const kinds = (await claimAtOnce(claims)).map(kindOf);
      expect(kinds.filter((kind) => kind === "claimed")).toHaveLength(2);
      expect(kinds.filter((kind) => kind === "open")).toHaveLength(98);
      for (const [n, claim] of claims.entries()) {
        if (kinds[n] !== "claimed") continue;
        await at(n).move(claim.messageHash, "broadcast");
        await at(n).move(claim.messageHash, "failed", "failed_on_chain: insufficient funds");
      }
      const refused = (await claimAtOnce(Array.from({ length: 10 }, mine))).map(kindOf);
      expect(new Set(refused)).toEqual(new Set(["unproven"]));
      expect(kindOf(await relays.claim(claimOf(), PLENTY))).toBe("claimed");
    },
  );

  it("counts per wallet in either transaction version", async () => {
    const payer = randomBytes(32);
    for (const version of ["legacy", "v0"] as const)
      await claimed({ signedTransaction: bytesOf(payer, version) });
    expect(kindOf(await relays.claim(claimOf({ signedTransaction: bytesOf(payer) }), PLENTY))).toBe("open");
  });

  it("allows one more fee per confirmed payment of both account and wallet", async () => {
    const [accountId, payer] = [accountOf(), randomBytes(32)];
    const mine = { accountId, signedTransaction: bytesOf(payer) };
    for (const end of ["confirmed", "failed", "failed", "failed"] as const) await ended(end, mine);
    expect(kindOf(await relays.claim(claimOf(mine), PLENTY))).toBe("unproven");
    const other = claimOf({ accountId, signedTransaction: bytesOf(randomBytes(32)) });
    expect(kindOf(await relays.claim(other, PLENTY))).toBe("unproven");
  });

  it("is reset after a day, which the refusal reports", async () => {
    const accountId = accountOf();
    const [first] = [await ended("failed", { accountId }), await ended("failed", { accountId })];
    await age(first, "23 hours");
    const refused = await relays.claim(claimOf({ accountId }), PLENTY);
    expect(refused).toMatchObject({ kind: "quota", of: "unproven" });
    if (refused.kind === "quota") expect(Math.abs(refused.retryAfterSeconds - 3_600)).toBeLessThan(120);
    await age(first, "1 hour");
    expect(kindOf(await relays.claim(claimOf({ accountId }), PLENTY))).toBe("claimed");
  });

  it("excludes transactions that were never sent or never landed, and returns their fee", async () => {
    const [accountId, before] = [accountOf(), await relays.spentToday()];
    for (let n = 0; n < 3; n++) {
      await relays.reject((await claimed({ accountId })).messageHash, "it would fail");
      await ended("failed", { accountId }, "never_landed");
    }
    expect(await relays.spentToday()).toBe(before);
    expect(kindOf(await relays.claim(claimOf({ accountId }), PLENTY))).toBe("claimed");
  });

  it("leaves half of the budget to accounts that have paid", async () => {
    await owner.pool.query("delete from relay");
    await owner.pool.query("delete from relay_budget");
    const customers = [accountOf(), await owner.account()];
    await settled(customers[0]!, 1);
    await serving.ledger.credit(customers[1]!, depositOf({ amount: 10_000n }));
    const limits = { ...PLENTY, dailyLamports: (await relays.spentToday()) + 80_000n };
    const strangers = Array.from({ length: 60 }, () => claimOf());
    const kinds = (await claimAtOnce(strangers, limits)).map(kindOf);
    expect(kinds.filter((kind) => kind === "claimed")).toHaveLength(4);
    expect(kinds.filter((kind) => kind === "reserve")).toHaveLength(56);
    for (const accountId of customers)
      expect(kindOf(await relays.claim(claimOf({ accountId }), limits))).toBe("claimed");
    // A payment by one account does not raise the limit of another.
    const paid = strangers[kinds.indexOf("claimed")]!.messageHash;
    await relays.move(paid, "broadcast");
    expect(kindOf(await relays.claim(claimOf(), limits))).toBe("reserve");
    await relays.move(paid, "confirmed");
    await relays.reject(strangers[kinds.lastIndexOf("claimed")]!.messageHash, "it would fail");
  });
});

describe("the state of a relay claim", () => {
  const NEXT: Record<RelayState, readonly RelayState[]> = {
    claimed: ["broadcast"],
    broadcast: ["unknown", "confirmed", "failed"],
    unknown: ["confirmed", "failed"],
    confirmed: [],
    failed: [],
  };

  it("moves forward only: never back to claimed, never out of confirmed or failed", async () => {
    for (const from of ["claimed", "broadcast", "unknown", "confirmed", "failed"] as const) {
      for (const to of ["broadcast", "unknown", "confirmed", "failed"] as const) {
        const claim = await claimedIn(from);
        const forward = NEXT[from].includes(to);
        expect(await relays.move(claim.messageHash, to), `${from} -> ${to}`).toBe(forward);
        expect(await stateOf(claim)).toBe(forward ? to : from);
        if (from !== "claimed") expect(await relays.reject(claim.messageHash, "no")).toBe(false);
      }
    }
    expect(await relays.move(randomBytes(32), "broadcast")).toBe(false);
    expect(await relays.reject(randomBytes(32), "no")).toBe(false);
  });

  it("is either rejected or sent when two instances decide at once", async () => {
    for (let round = 0; round < 10; round++) {
      const claim = await claimed();
      const [rejected, sent] = await Promise.all([
        at(1).reject(claim.messageHash, "no"),
        at(2).move(claim.messageHash, "broadcast"),
      ]);
      expect(rejected).toBe(!sent);
    }
  });

  it("ends once when instances report different ends", async () => {
    for (let round = 0; round < 10; round++) {
      const claim = await claimedIn("broadcast");
      const ends = ["confirmed", "failed", "confirmed"] as const;
      const moved = await Promise.all(ends.map((end, n) => at(n).move(claim.messageHash, end)));
      expect(moved.filter(Boolean)).toHaveLength(1);
      expect(await stateOf(claim)).toBe(ends[moved.indexOf(true)]);
    }
  });

  it("is stored fully or not at all when a connection breaks", async () => {
    const client = await serving.pool.connect();
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    const before = await relays.spentToday();
    await client.query("begin");
    const claim = claimOf();
    await client.query(
      `select relay_claim(row($1, $2, $3, $3, $4, $5, 10000, 1, 'claimed', null, now(),
        now())::relay, 1000000000000, 100, 100)`,
      [claim.messageHash, claim.quoteId, randomUUID(), randomBytes(64), randomBytes(10)],
    );
    const dead = client.query("select pg_sleep(60)").catch((error: unknown) => error);
    await owner.pool.query("select pg_terminate_backend($1)", [rows[0]?.pid]);
    expect(await dead).toBeInstanceOf(Error);
    client.release(true);
    expect(await at(1).find(claim.messageHash)).toBeUndefined();
    expect(await at(1).spentToday()).toBe(before);
    expect(await at(1).claim(claim, PLENTY)).toMatchObject({ kind: "claimed" });
  });
});

describe("unfinished relay claims", () => {
  it("are listed once idle for a while, oldest first", async () => {
    const states: Record<string, RelayState> = {};
    const old: NewRelayClaim[] = [];
    for (const state of ["claimed", "broadcast", "unknown", "confirmed", "failed"] as const) {
      const claim = await claimedIn(state);
      await age(claim, `${10 - old.length} minutes`);
      states[claim.txSignature] = state;
      old.push(claim);
    }
    await claimed();
    const found = await at(2).unfinished(5 * MINUTE_MS, 100);
    const ours = found.map(({ txSignature }) => states[txSignature]).filter((state) => state !== undefined);
    expect(ours).toEqual(["claimed", "broadcast", "unknown"]);
    expect(await at(2).unfinished(5 * MINUTE_MS, 1)).toHaveLength(1);
  });

  it("are kept, and finished ones for thirty days", async () => {
    const [ended, recent, open] = [
      await claimedIn("confirmed"),
      await claimedIn("confirmed"),
      await claimed(),
    ];
    for (const claim of [ended, open]) await age(claim, "31 days");
    await age(recent, "29 days");
    expect(await serving.sweeper.retention.deleteExpired(["relays"])).toBe(1);
    expect(await Promise.all([ended, recent, open].map(stateOf))).toEqual([
      undefined,
      "confirmed",
      "claimed",
    ]);
    // Claimed today, for the budget.
    await owner.pool.query("delete from relay where claimed_at < now() - interval '1 day'");
    await owner.pool.query("delete from relay_budget");
    await owner.pool.query(
      `insert into relay_budget select (claimed_at at time zone 'utc')::date, sum(fee_lamports)
        from relay group by 1`,
    );
  });
});

describe("a payment by a relayed transaction", () => {
  it("is marked gasless whether the proof, the watch or a credit finds it", async () => {
    const account = await owner.account();
    const [proved, watched, credited] = [await claimed(), await claimed(), await claimed()];
    const treasurer = openInstance(servingUrl(database.url));

    const call = callOf(account, { payment: paymentOf(depositOf({ reference: proved.txSignature })) });
    const end = completed(call);
    expect(await treasurer.ledger.authorize({ ...call, idempotencyKey: "k" })).toEqual({ kind: "started" });
    expect(await treasurer.ledger.capture(end)).toMatchObject({
      kind: "captured",
      receipt: { paidBy: "gasless" },
    });

    const token = await watchedAccount(treasurer);
    const movement = movementOf({
      txSignature: watched.txSignature,
      attribution: { accountId: account, quoteId: watched.quoteId },
    });
    expect(await treasurer.treasury.record(token, movement)).toBe("credited");
    const stranger = movementOf();
    await treasurer.treasury.record(token, stranger);
    const deposit = depositOf({ reference: credited.txSignature, amount: PRICE });
    expect(await treasurer.ledger.credit(account, deposit)).toMatchObject({ credited: true });

    const { rows } = await owner.pool.query<{ reference: Buffer; paid_by: string }>(
      "select reference, paid_by from payment",
    );
    const paidBy = Object.fromEntries(rows.map((row) => [base58.encode(row.reference), row.paid_by]));
    expect(paidBy).toMatchObject({
      [proved.txSignature]: "gasless",
      [watched.txSignature]: "gasless",
      [credited.txSignature]: "gasless",
      [stranger.txSignature]: "transfer",
    });
    await treasurer.close();
  });
});

describe("a relay claim for a quote that is already paid", () => {
  it("is rejected", async () => {
    const [{ instance }] = instances as [(typeof instances)[number]];
    const accountId = await owner.account();
    const deposit = depositOf();
    await instance.buy(accountId, { payment: paymentOf(deposit) });
    const { quoteId, reference: txSignature } = deposit;
    expect(await relays.claim(claimOf({ quoteId }), PLENTY)).toEqual({ kind: "quote_taken", txSignature });
  });
});

it("leaves a ledger that passes the audit", () => expectCleanAudit(owner.pool));
