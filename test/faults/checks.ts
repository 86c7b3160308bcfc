import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { post } from "./client.ts";
import type { Ask } from "./environment.ts";
import type { Market } from "./market.ts";
import { digestOf, type Reference, type Sale } from "./reference.ts";

/** How long abandoned runs may last, ms: lease, sweep and a busy machine. */
const RELEASED_MS = 20_000;

/** Concurrent replays. */
const REPLAYS = 32;

/** Checks every ledger invariant on one snapshot; they hold at any time. */
export async function auditNow({ ground, tally }: Market): Promise<void> {
  const lines = await ground.postgres.audit();
  tally.count("audits");
  const wrong = lines.filter(({ violations }) => violations > 0n);
  if (wrong.length > 0) tally.violated("the audit is clean", wrong);
}

/** Checks that no run or claim is open when no call runs. */
export async function checkNothingOpen({ ground, tally }: Market): Promise<void> {
  const since = performance.now();
  for (;;) {
    const [open] = await ground.rows<{ runs: bigint; claims: bigint }>(
      `select (select count(*) from run where status = 'active') as runs,
              (select count(*) from idempotency where state = 'running') as claims`,
    );
    if (open && open.runs + open.claims === 0n) return;
    if (performance.now() - since > RELEASED_MS) {
      const runs = await ground.rows("select * from run where status = 'active' limit 20");
      tally.violated("no run or claim stays open", { open, runs });
      return;
    }
    await sleep(100);
  }
}

/** Checks that every acknowledged call is in the ledger with its amount. */
export async function checkDurable({ ground, reference, tally }: Market): Promise<void> {
  const missing = await findMissing(ground.rows, reference);
  tally.count("promised", reference.saleCount);
  tally.count("durable", reference.saleCount - missing.length);
  for (const sale of missing) tally.violated("what was acknowledged is durable", saleOf(sale));
}

/** Returns the acknowledged calls that are not in the ledger with their amount. */
export async function findMissing(rows: Ask, reference: Reference): Promise<Sale[]> {
  // A call may be acknowledged after the query.
  const sales = [...reference.sales];
  const receipts = await rows<{ id: string; debited: bigint }>(
    "select 'rcpt_' || encode(uuid_send(id), 'hex') as id, debited from receipt",
  );
  const stored = new Map(receipts.map(({ id, debited }) => [id, debited]));
  return sales.filter(
    ({ receiptId, debited }) => receiptId !== undefined && stored.get(receiptId) !== debited,
  );
}

/** Checks that a repeat of every acknowledged call returns the same result. */
export async function checkReplays(market: Market, targets: readonly (string | undefined)[]): Promise<void> {
  const { reference, tally } = market;
  const sales = reference.sales[Symbol.iterator]();
  const replay = async (target: string | undefined): Promise<void> => {
    for (let next = sales.next(); !next.done; next = sales.next()) {
      const { customer, call, digest } = next.value;
      const again = call.openai ? { ...call, openai: otherForm(call.openai) } : call;
      if (target === undefined) throw new Error("an instance is missing");
      const reply = await post(target, customer, again, { ms: 30_000 });
      tally.count("replays");
      if (reply?.status !== 200 || digestOf(reply.text) !== digest)
        tally.violated("a replay is the answer that was acknowledged", {
          ...saleOf(next.value),
          reply: reply?.body,
        });
    }
  };
  await Promise.all(Array.from({ length: REPLAYS }, (_, index) => replay(targets[index % targets.length])));
}

/**
 * Checks independently of the audit that no key, proof or payment has two receipts. No receipt takes more
 * than was held and quoted, and each has the stored result of a completed run.
 */
export async function checkCharges({
  ground,
  tally,
}: Pick<Market, "tally"> & { ground: Pick<Market["ground"], "rows"> }): Promise<void> {
  const twice = await ground.rows(
    `select run.account_id, run.claim_key, count(*) as receipts, array_agg(receipt.id) as ids
     from receipt join run on run.id = receipt.run_id where run.claim_key is not null
     group by run.account_id, run.claim_key having count(*) > 1 limit 20`,
  );
  if (twice.length > 0) tally.violated("no key and no proof has two receipts", twice);
  const paid = await ground.rows(
    `select network, encode(reference, 'hex') as reference, array_agg(id) as ids from receipt
     where reference is not null group by network, reference having count(*) > 1 limit 20`,
  );
  if (paid.length > 0) tally.violated("no payment has two receipts", paid);
  const wrong = await ground.rows(
    `select receipt.*, run.status, run.price from receipt left join run on run.id = receipt.run_id
     where run.status is distinct from 'completed' or receipt.debited > run.price
       or receipt.debited > receipt.quoted or receipt.debited < 1
       or (run.claim_key is not null and not exists (
         select from idempotency where run_id = run.id and state = 'done')) limit 20`,
  );
  if (wrong.length > 0) tally.violated("a charge is at most its hold, for a stored result", wrong);
}

function otherForm(form: "whole" | "streamed"): "whole" | "streamed" {
  return form === "whole" ? "streamed" : "whole";
}

const named = z.object({ account: z.string(), key: z.string().optional(), tx: z.string().optional() });

/** Adds the database rows of the failed calls to the report. */
export async function explainViolations({ ground, tally }: Market): Promise<void> {
  for (const violation of tally.violations.slice(0, 10)) {
    const call = named.safeParse(violation.details);
    if (!call.success || call.data.account.startsWith("wallet:")) {
      violation.rows = await suspects(ground.rows);
      continue;
    }
    const { account, key, tx } = call.data;
    if (key === undefined && tx === undefined) continue;
    const values = [account.slice("acct_".length), key === undefined ? `pay:${tx}` : `key:${key}`];
    violation.rows = {
      claims: await ground.rows("select * from idempotency where account_id = $1 and key = $2", values),
      runs: await ground.rows("select * from run where account_id = $1 and claim_key = $2", values),
      receipts: await ground.rows(
        `select receipt.* from receipt join run on run.id = receipt.run_id where run.account_id = $1
          and run.claim_key = $2`,
        values,
      ),
    };
  }
}

/** Rows that look wrong, when no account is named. */
async function suspects(rows: Ask): Promise<object> {
  return {
    completed_without_receipt: await rows(
      `select run.* from run left join receipt on receipt.run_id = run.id
       where run.status = 'completed' and run.price > 0 and receipt.id is null limit 3`,
    ),
    deposited_without_payment: await rows(
      `select * from transfer where kind = 'deposit' and not exists (select from payment
        where payment_ref(network, reference) = ref) limit 3`,
    ),
  };
}

function saleOf({ customer, call, receiptId, debited }: Sale): object {
  return { account: customer.accountId, key: call.key, tx: call.proof?.tx, receiptId, debited };
}
