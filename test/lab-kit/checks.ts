import { z } from "zod";
import { post } from "./client.ts";
import type { Ask } from "./ground.ts";
import type { Market } from "./market.ts";
import { checkMoney, checkTreasury } from "./money-checks.ts";
import { digestOf, type Reference, type Sale } from "./reference.ts";
import { until } from "../support/until.ts";

/** How long abandoned runs may last, ms: lease, sweep and a busy machine. */
const RELEASED_MS = 20_000;

/** Concurrent replays. */
const REPLAYS = 32;

/** Violations that get the database rows about them. */
const EXPLAINED = 10;

/** Checks what must hold whenever no call runs: ledger, accounts and charges. */
export async function checkQuiet(market: Market): Promise<void> {
  market.ground.settle();
  for (const check of [checkNothingOpen, auditNow, checkMoney, checkCharges]) await check(market);
  market.tally.count("quiet");
}

/**
 * Checks all that must hold when the load has ended, also that every acknowledged call is stored and
 * replayable and that the ledger matches the chain.
 */
export async function checkEverything(market: Market, logs: () => readonly string[]): Promise<void> {
  await checkQuiet(market);
  await checkDurable(market);
  await checkReplays(market);
  await checkTreasury(market, logs);
  await checkCharges(market);
  await auditNow(market);
  await explainViolations(market);
}

/** Checks every ledger invariant on one snapshot; they hold at any time. */
export async function auditNow({ ground, tally }: Market): Promise<void> {
  const lines = await ground.postgres.audit();
  tally.count("audits");
  const wrong = lines.filter(({ violations }) => violations > 0n);
  if (wrong.length > 0) tally.violated("the audit is clean", wrong);
}

/** Checks that no run or claim is open when no call runs. */
async function checkNothingOpen({ ground, tally }: Market): Promise<void> {
  const nothingOpen = async () => {
    const [open] = await ground.rows<{ count: bigint }>(
      `select (select count(*) from run where status = 'active')
            + (select count(*) from idempotency where state = 'running') as count`,
    );
    return open?.count === 0n;
  };
  if (await until(nothingOpen, RELEASED_MS).catch(() => false)) return;
  const runs = await ground.rows("select * from run where status = 'active' limit 20");
  tally.violated("no run or claim stays open", runs);
}

/** Checks that every acknowledged call is in the ledger with its amount. */
async function checkDurable({ ground, reference, tally }: Market): Promise<void> {
  const missing = await findMissing(ground.rows, reference);
  tally.count("promised", reference.sales.length);
  tally.count("durable", reference.sales.length - missing.length);
  for (const sale of missing) tally.violated("what was acknowledged is durable", saleOf(sale));
}

/** Returns the acknowledged calls that are not in the ledger with their amount. */
export async function findMissing(rows: Ask, { sales }: Pick<Reference, "sales">): Promise<Sale[]> {
  const receipts = await rows<{ id: string; debited: bigint }>(
    "select 'rcpt_' || encode(uuid_send(id), 'hex') as id, debited from receipt",
  );
  const stored = new Map(receipts.map(({ id, debited }) => [id, debited]));
  return sales.filter(
    ({ receiptId, debited }) => receiptId !== undefined && stored.get(receiptId) !== debited,
  );
}

/** Checks that a repeat of every acknowledged call returns the same result. */
async function checkReplays({ reference, targets, tally }: Market): Promise<void> {
  const all = targets();
  const sales = reference.sales.values();
  const replay = async (_: unknown, index: number): Promise<void> => {
    const target = all[index % all.length];
    if (target === undefined) throw new Error("an instance is missing");
    for (const sale of sales) {
      const { customer, call, digest } = sale;
      const other = call.openai === "whole" ? "streamed" : "whole";
      const reply = await post(target, customer, call.openai ? { ...call, openai: other } : call, 30_000);
      tally.count("replays");
      if (reply?.status !== 200 || digestOf(reply.text) !== digest)
        tally.violated("a replay is the answer that was acknowledged", {
          ...saleOf(sale),
          reply: reply?.body,
        });
    }
  };
  await Promise.all(Array.from({ length: REPLAYS }, replay));
}

/**
 * Checks independently of the audit that no key, proof or payment has two receipts. No receipt takes more
 * than was held and quoted, and each has the stored result of a completed run.
 */
export async function checkCharges({
  ground,
  tally,
}: Pick<Market, "tally"> & { ground: Pick<Market["ground"], "rows"> }): Promise<void> {
  const none = async (promise: string, wrong: string) => {
    const found = await ground.rows(`${wrong} limit 20`);
    if (found.length > 0) tally.violated(promise, found);
  };
  await none(
    "no key and no proof has two receipts",
    `select run.account_id, run.claim_key, array_agg(receipt.id) as ids
     from receipt join run on run.id = receipt.run_id where run.claim_key is not null
     group by run.account_id, run.claim_key having count(*) > 1`,
  );
  await none(
    "no payment has two receipts",
    `select network, encode(reference, 'hex') as reference, array_agg(id) as ids from receipt
     where reference is not null group by network, reference having count(*) > 1`,
  );
  await none(
    "a charge is at most its hold, for a stored result",
    `select receipt.*, run.status, run.price from receipt left join run on run.id = receipt.run_id
     where run.status is distinct from 'completed' or receipt.debited > run.price
       or receipt.debited > receipt.quoted or receipt.debited < 1
       or (run.claim_key is not null and not exists (
         select from idempotency where run_id = run.id and state = 'done'))`,
  );
}

const named = z.object({ account: z.string(), key: z.string().optional(), tx: z.string().optional() });

/** Adds the database rows of the failed calls to the report. */
export async function explainViolations({ ground, tally }: Market): Promise<void> {
  for (const violation of tally.violations.slice(0, EXPLAINED)) {
    const { account = "", key, tx } = named.safeParse(violation.details).data ?? {};
    if (!account.startsWith("acct_") || (key ?? tx) === undefined) continue;
    const claim = [account.slice("acct_".length), key === undefined ? `pay:${tx}` : `key:${key}`];
    const rows = (from: string) => ground.rows(`select ${from}`, claim);
    violation.rows = {
      claims: await rows("* from idempotency where account_id = $1 and key = $2"),
      runs: await rows("* from run where account_id = $1 and claim_key = $2"),
      receipts: await rows(`receipt.* from receipt join run on run.id = receipt.run_id
        where run.account_id = $1 and run.claim_key = $2`),
    };
  }
}

export function saleOf({ customer, call, receiptId, debited }: Sale): object {
  return { account: customer.accountId, key: call.key, tx: call.proof?.tx, receiptId, debited };
}
