import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import { describe, expect, it } from "vitest";
import { accountsPage } from "../../../src/postgres/accounts/account-search.ts";
import {
  CALLS_BY_MINUTE,
  FAILED_PAYMENTS,
  PostgresOperations,
} from "../../../src/postgres/operations/operations.ts";
import type { ActionFilter } from "../../../src/app/operations/operator-actions.ts";
import { newId } from "../../../src/domain/core/ids.ts";
import { ACTIONS, PostgresOperatorActions } from "../../../src/postgres/operations/operator-actions.ts";
import { openPool } from "../../../src/postgres/database/pool.ts";
import { systemClock, systemRandom } from "../../../src/system.ts";
import { BEFORE_ALL_ENTRIES } from "../../../src/postgres/database/entry-ids.ts";
import { datingOfEntries } from "../dated-entries.ts";
import {
  callOf,
  chargeOf,
  completed,
  depositOf,
  expectCleanAudit,
  failed,
  makeAccount,
  paymentOf,
  PRICE,
  openLedger,
  idOf,
  nextMillisecond,
} from "../fixture.ts";

/** Operator figures from the database. */

const { database, pool, one } = await openLedger();
const operations = new PostgresOperations(pool, systemClock);

const MINUTE_MS = 60_000;

async function buy(accountId: string) {
  const call = await one.start(accountId);
  return chargeOf(one.ledger, completed(call));
}

describe("operator figures", () => {
  it("return revenue less refunds, liabilities and active runs", async () => {
    expect(await operations.revenue()).toBe(0n);
    expect(await operations.figures()).toEqual({ activeRuns: 0, liabilities: 0n });
    const accountId = await makeAccount(pool, 10n * PRICE);
    const receipts = [await buy(accountId), await buy(accountId), await buy(accountId)];
    const running = await one.start(accountId);
    expect(await operations.figures()).toEqual({ activeRuns: 1, liabilities: 7n * PRICE });
    await one.refunds.refund({ receiptId: receipts[0] ?? "", reason: "bad" });
    expect(await operations.revenue()).toBe(2n * PRICE);
    expect(await operations.figures()).toEqual({ activeRuns: 1, liabilities: 8n * PRICE });
    await one.ledger.release(failed(running));
    expect(await operations.figures()).toEqual({ activeRuns: 0, liabilities: 8n * PRICE });
    await expectCleanAudit(pool);
  });

  it("count each entry once at any mark position, and none that an earlier one may still precede", async () => {
    const mark = async () => (await pool.query("select counted_to, amount from revenue_mark")).rows[0];
    const revenue = await operations.revenue();
    expect(await mark()).toEqual({ counted_to: BEFORE_ALL_ENTRIES, amount: 0n });
    await pool.query(datingOfEntries("update dated set at = at - interval '2 minutes'"));
    const { rows } = await pool.query<{ last: string }>(
      "select id as last from ledger_entry order by id desc limit 1",
    );
    // In small steps, until complete.
    const steps: unknown[] = [];
    for (let complete = false; !complete;) {
      const step = await pool.query("select * from operations_revenue(3)");
      complete = step.rows[0].complete;
      steps.push(step.rows[0].amount);
    }
    expect(steps.length).toBeGreaterThan(1);
    expect(steps.at(-1)).toBe(revenue);
    expect(await mark()).toEqual({ counted_to: rows[0]?.last, amount: revenue });
    await buy(await makeAccount(pool, PRICE));
    const both = await Promise.all([operations.revenue(), operations.revenue()]);
    expect(both).toEqual([(revenue ?? 0n) + PRICE, (revenue ?? 0n) + PRICE]);
    expect(await mark()).toEqual({ counted_to: rows[0]?.last, amount: revenue });
  });
});

describe("calls per minute", () => {
  it("cover sixty minutes with all their calls", async () => {
    await pool.query("truncate run");
    await pool.query(
      "set session_replication_role = replica; truncate receipt; reset session_replication_role",
    );
    const now = Math.floor(systemClock.now() / MINUTE_MS) * MINUTE_MS;
    const add = async (ageMs: number, status: string, debited: bigint) => {
      const at = now - ageMs;
      const id = idOf("run", at).slice(4);
      await pool.query(
        `insert into run (id, account_id, tool, status, lease_until, price, paid_by, created_at)
         values ($1, $1, 't', $2, now(), 1, 'balance', $3)`,
        [id, status, new Date(at)],
      );
      if (debited === 0n) return;
      await pool.query(
        `insert into receipt (id, run_id, account_id, tool, quoted, debited, paid_by, created_at)
         values ($1, $1, $1, 't', $2, $2, 'balance', $3)`,
        [id, debited, new Date(at)],
      );
    };
    await add(0, "completed", 5n);
    await add(0, "failed", 0n);
    await add(30 * MINUTE_MS, "cancelled", 0n);
    await add(30 * MINUTE_MS - 1, "completed", 7n);
    await add(30 * MINUTE_MS, "active", 0n);
    await add(59 * MINUTE_MS, "completed", 11n);
    await add(59 * MINUTE_MS + 1, "completed", 13n);
    const minutes = await operations.minutes();
    expect(minutes).toHaveLength(60);
    // The clock may have reached the next minute.
    const first = minutes[0]?.start.getTime() ?? 0;
    expect([now, now + MINUTE_MS]).toContain(first + 59 * MINUTE_MS);
    expect(minutes.map(({ start }) => start.getTime())).toEqual(
      minutes.map((_, index) => first + index * MINUTE_MS),
    );
    const at = (ageMs: number) => minutes.find(({ start }) => start.getTime() === now - ageMs);
    expect(at(0)).toMatchObject({ completed: 1, failed: 1, charged: 5n });
    expect(at(30 * MINUTE_MS)).toMatchObject({ completed: 1, failed: 1, charged: 7n });
    expect(minutes.filter(({ completed: c, failed: f }) => c + f > 0).length).toBeLessThan(4);
    if (first + 59 * MINUTE_MS === now)
      expect(at(59 * MINUTE_MS)).toMatchObject({ completed: 1, failed: 0, charged: 11n });
    expect(minutes.reduce((sum, { charged }) => sum + charged, 0n)).toBeLessThan(5n + 7n + 11n + 1n);
    await pool.query("truncate run");
  });
});

describe("failed payments", () => {
  it("name no account for the relay of a wallet without one", async () => {
    await pool.query(
      `insert into relay select $1, 'qt_wallet', $2, null, $3, '', 0, 1, 'failed', 'late', now(), now()`,
      [randomBytes(32), "0".repeat(32), randomBytes(64)],
    );
    const { items } = await operations.failedPayments({ limit: 1, cursor: undefined });
    expect(items).toMatchObject([{ kind: "relay", quoteId: "qt_wallet", accountId: undefined }]);
    await pool.query("delete from relay where quote_id = 'qt_wallet'");
  });

  it("list reversed, unused and failed relay payments, newest first", async () => {
    const { ledger } = one;
    const accountId = await makeAccount(pool, 0n);
    const credit = async (change = {}) => {
      const deposit = depositOf(change);
      await ledger.credit(accountId, deposit);
      return deposit;
    };
    const unused = await credit({ amount: 3n });
    const reversed = await credit({ slot: 5n });
    await pool.query("select treasury_reverse('solana-mainnet', $1)", [base58.decode(reversed.reference)]);
    const forDeposit = await credit({ quoteId: `dep_${"0".repeat(32)}` });
    const good = callOf(accountId, { payment: paymentOf(depositOf()), idempotencyKey: "good" });
    await ledger.authorize(good);
    await ledger.capture(completed(good));
    const second = await credit({ quoteId: good.payment?.quoteId });
    const relayed = randomBytes(64);
    await pool.query(
      `insert into relay select $1, 'qt_relayed', $2, $2, $3, '', 0, 1, state, reason, now(),
          now() + n * interval '1 second'
       from (values (1, 'failed', 'InsufficientFunds')) v (n, state, reason)`,
      [randomBytes(32), accountId.slice(5), relayed],
    );

    const list = async (limit = 100, cursor?: string) => operations.failedPayments({ limit, cursor });
    const kinds = async () => (await list()).items.map(({ kind, txSignature }) => [kind, txSignature]);
    expect(await kinds()).toEqual([
      ["relay", base58.encode(relayed)],
      ["reversed", reversed.reference],
    ]);
    await pool.query("update payment set created_at = created_at - interval '61 seconds'");
    const { items } = await list();
    expect(items).toMatchObject([
      {
        kind: "relay",
        txSignature: base58.encode(relayed),
        accountId,
        quoteId: "qt_relayed",
        amount: undefined,
        relayReason: "InsufficientFunds",
      },
      { kind: "unused", txSignature: second.reference, quotePaid: true },
      { kind: "reversed", txSignature: reversed.reference, amount: PRICE, accountId, quotePaid: false },
      {
        kind: "unused",
        txSignature: unused.reference,
        amount: 3n,
        quoteId: unused.quoteId,
        quotePaid: false,
      },
    ]);
    expect(items.map(({ txSignature }) => txSignature)).not.toContain(forDeposit.reference);

    // All at the same time, so that the signature decides.
    await pool.query(
      "update payment set created_at = (select moved_at from relay limit 1) - interval '1 hour'",
    );
    await pool.query("update relay set moved_at = moved_at - interval '1 hour'");
    const whole = (await list()).items;
    expect(whole).toHaveLength(4);
    const paged = [];
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const page = await list(1, cursor);
      expect(page.nextCursor?.length ?? 0).toBeLessThanOrEqual(200);
      paged.push(...page.items);
      cursor = page.nextCursor;
    }
    expect(paged).toEqual(whole);
    await expect(list(1, "nonsense")).rejects.toMatchObject({ code: "INVALID_REQUEST" });
  });

  it("have no account while in suspense", async () => {
    const tx = randomBytes(64);
    await pool.query(
      `insert into payment (network, reference, account_id, amount, settled, slot, block_time, finalized,
          reversed, paid_by)
       values ('solana-mainnet', $1, '00000000-0000-0000-0000-000000000003', 9, false, 1, now(), false,
         true, 'transfer')`,
      [tx],
    );
    const [newest] = (await operations.failedPayments({ limit: 1, cursor: undefined })).items;
    expect(newest).toMatchObject({
      txSignature: base58.encode(tx),
      kind: "reversed",
      accountId: undefined,
      quoteId: undefined,
    });
    await pool.query("delete from payment where reference = $1", [tx]);
  });
});

describe("a database with a hundred thousand accounts", () => {
  const [ACCOUNTS, ROWS] = [100_000, 20_000];

  it("serves every list and search without reading more rows than it returns", async () => {
    await pool.query(
      `insert into account (id, wallet, rate_per_minute, burst)
       select lpad(to_hex(n), 32, '0')::uuid, substr(translate(md5(n::text) || md5((-n)::text), '0', 'z'),
         1, 44), 60, 10
       from generate_series(10, ${ACCOUNTS}) n`,
    );
    // Disabled triggers: each row would notify every instance.
    await pool.query("alter table api_key disable trigger key_change");
    await pool.query(
      `insert into api_key (id, account_id, sha256, prefix, name, scopes)
       select lpad(to_hex(n * 7), 32, '0')::uuid, lpad(to_hex(n), 32, '0')::uuid, decode(lpad(to_hex(n), 64,
         '0'), 'hex'),
              'sk-agent-' || substr(translate(md5(n::text), '0', 'z'), 1, 4), '', '{}'
       from generate_series(10, ${ACCOUNTS}, 5) n`,
    );
    await pool.query(
      `insert into run (id, account_id, tool, status, lease_until, price, paid_by, created_at)
       select lpad(to_hex(n), 32, '0')::uuid, gen_random_uuid(), 't', 'completed', now(), 5, 'balance',
         now() - interval '1 day' from generate_series(1, ${ROWS}) n`,
    );
    await pool.query(
      `insert into payment (network, reference, account_id, quote_id, amount, settled, fingerprint,
         claim_key,
          slot, block_time, finalized, paid_by)
       select 'solana-mainnet', decode(lpad(to_hex(n), 128, '0'), 'hex'), gen_random_uuid(), 'qt_' || n, 5,
         true, decode(repeat('00', 32), 'hex'), 'k', 1, now(), true, 'transfer'
       from generate_series(1, ${ROWS}) n`,
    );
    await pool.query(
      `insert into operator_action (id, actor, action, target, details)
       select lpad(to_hex(n), 32, '0')::uuid, 'cli:x', 'account.tier', 'acct_' || n, '{}'
         from generate_series(1, ${ROWS}) n`,
    );
    await pool.query("vacuum analyze account, api_key, run, receipt, payment, relay, operator_action");

    const read = async (text: string, values: unknown[]) => {
      const explained = `explain (analyze, buffers, timing off, summary off, costs off) ${text}`;
      const { rows } = await pool.query<{ "QUERY PLAN": string }>(explained, values);
      const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
      const sum = (pattern: RegExp) => Number(pattern.exec(plan)?.[1] ?? 0);
      return { plan, pages: sum(/shared hit=(\d+)/) + sum(/read=(\d+)/) };
    };
    const { rows: some } = await pool.query<{ wallet: string; id: string; key: string; prefix: string }>(
      `select wallet, account.id, api_key.id as key, prefix from account join api_key
          on account_id = account.id
       where account.id = lpad(to_hex(50000), 32, '0')::uuid`,
    );
    const [account] = some;
    const hex = (uuid = "") => uuid.replaceAll("-", "");
    const queries = [
      ...[
        "",
        "acct_",
        "key_",
        "key_0",
        "sk-agent-",
        "sk-agent-a",
        account?.prefix ?? "",
        account?.wallet ?? "",
      ],
      ...[
        (account?.wallet ?? "").slice(0, 4),
        (account?.wallet ?? "").slice(0, 1),
        `acct_${hex(account?.id)}`,
        `key_${hex(account?.key)}`,
      ],
      ...["acct_ffff", "key_ffff", "sk-agent-ZZZZ", "ZZZZ", `acct_${hex(account?.id).slice(0, 28)}`],
    ];
    for (const query of queries) {
      const page = accountsPage(query, "f".repeat(32), 21);
      if (!page) expect.unreachable(query);
      const { plan, pages } = await read(page.text, page.values ?? []);
      expect(plan, query).not.toContain("Seq Scan");
      // A one-letter prefix may scan the newest rows or sort.
      expect(pages, `${query}\n${plan}`).toBeLessThan(query === "sk-agent-a" ? 30_000 : 1_500);
    }
    const lists = [
      [ACTIONS, ["f".repeat(32), 21, undefined, undefined, undefined, undefined]],
      [FAILED_PAYMENTS, [2n ** 52n - 1n, Buffer.alloc(64, 255), 21]],
      [CALLS_BY_MINUTE, [idOf("run", Date.now() - 3_900_000).slice(4), new Date()]],
    ] as const;
    for (const [text, values] of lists) {
      const { plan, pages } = await read(text, [...values]);
      expect(pages, plan).toBeLessThan(200);
    }
    expect((await operations.figures()).liabilities).toBeGreaterThan(0n);
  });

  it("marks the later of two concurrent actions as a repeat", async () => {
    const apart = openPool(database.url, { max: 1, applicationName: "test" });
    const early = new PostgresOperatorActions(apart, systemClock, systemRandom);
    const late = new PostgresOperatorActions(pool, systemClock, systemRandom);
    const actor = { accountId: undefined, name: "cli:x" };
    const action = {
      actor,
      name: "account.adjust" as const,
      target: "acct_6",
      details: {},
      idempotencyKey: "5 key",
    };
    await apart.query("begin");
    const first = await early.record(action);
    await nextMillisecond();
    await late.record(action);
    await apart.query("commit");
    await apart.end();
    const { items } = await late.list({ limit: 2, cursor: undefined });
    expect(items.map(({ repeatOf }) => repeatOf)).toEqual([first, undefined]);
  });

  it("lists the actions of a name, an operator or a target", async () => {
    let now = Date.now();
    const actions = new PostgresOperatorActions(pool, { now: () => ++now }, systemRandom);
    const accountId = newId("acct", { now: () => ++now }, systemRandom);
    const more = { details: {}, idempotencyKey: undefined };
    const [own, cli] = [
      { accountId, name: "ses_f" },
      { accountId: undefined, name: "cli:f" },
    ];
    await actions.record({ ...more, actor: own, name: "account.block", target: "acct_f" });
    await actions.record({ ...more, actor: cli, name: "account.block", target: "acct_g" });
    await actions.record({ ...more, actor: cli, name: "account.tier", target: "acct_f" });
    const listed = async (filter: ActionFilter) => {
      const { items } = await actions.list({ limit: 9, cursor: undefined, ...filter });
      return items.filter(({ actor }) => actor.name.endsWith("f")).map(({ name, target }) => [name, target]);
    };
    expect(await listed({ operator: accountId })).toEqual([["account.block", "acct_f"]]);
    expect(await listed({ operator: "cli:f" })).toEqual([
      ["account.tier", "acct_f"],
      ["account.block", "acct_g"],
    ]);
    expect(await listed({ action: "account.block", target: "acct_f" })).toEqual([
      ["account.block", "acct_f"],
    ]);
  });

  it("finds the repeated action along an index", async () => {
    // Identifiers sort by millisecond: each action gets its own.
    let now = Date.now();
    const actions = new PostgresOperatorActions(pool, { now: () => ++now }, systemRandom);
    const action = {
      actor: { accountId: undefined, name: "cli:x" },
      name: "account.adjust" as const,
      target: "acct_5",
      details: {},
      idempotencyKey: "5 key",
    };
    const first = await actions.record(action);
    await actions.record({ ...action, idempotencyKey: "5 other" });
    await actions.record(action);
    const { items } = await actions.list({ limit: 3, cursor: undefined });
    expect(items.map(({ repeatOf }) => repeatOf)).toEqual([first, undefined, undefined]);
    const { rows } = await pool.query<{ "QUERY PLAN": string }>(
      `explain select id from operator_action where action = 'a' and target = 't' and once = 'o'
        and id < $1 order by id limit 1`,
      ["f".repeat(32)],
    );
    expect(rows.map((row) => row["QUERY PLAN"]).join("\n")).toContain("operator_action_once_index");
  });
});
