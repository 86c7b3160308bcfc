import { setTimeout as sleep } from "node:timers/promises";
import { post } from "./client.ts";
import type { Market } from "./market.ts";
import { digestOf, type Sale } from "./reference.ts";

/** How long runs that nobody works on any more may last, ms: the lease, the sweep, and a busy machine. */
const RELEASED_MS = 20_000;

/** Replays that are under way at once. */
const REPLAYS = 32;

/** Every invariant of the ledger, on one snapshot: what holds at any moment. */
export async function auditNow({ ground, tally }: Market): Promise<void> {
  const lines = await ground.postgres.audit();
  tally.count("audits");
  const wrong = lines.filter(({ violations }) => violations > 0n);
  if (wrong.length > 0) tally.violated("the audit is clean", wrong);
}

/** Nothing is open any more once nobody calls: no run, no hold, no claim. */
export async function checkNothingOpen({ ground, tally }: Market): Promise<void> {
  const since = performance.now();
  for (;;) {
    const [open] = await ground.rows<{ runs: bigint; holds: bigint; claims: bigint }>(
      `select (select count(*) from run where status = 'active') as runs,
              (select count(*) from hold where state = 'open') as holds,
              (select count(*) from idempotency where state = 'running') as claims`,
    );
    if (open && open.runs + open.holds + open.claims === 0n) return;
    if (performance.now() - since > RELEASED_MS) {
      const runs = await ground.rows("select * from run where status = 'active' limit 20");
      tally.violated("no run, hold or claim stays open", { open, runs });
      return;
    }
    await sleep(100);
  }
}

/** Every acknowledged call is in the ledger, with its amount. */
export async function checkDurable({ ground, reference, tally }: Market): Promise<void> {
  const rows = await ground.rows<{ id: string; debited: bigint }>(
    "select 'rcpt_' || encode(uuid_send(id), 'hex') as id, debited from receipt",
  );
  const stored = new Map(rows.map(({ id, debited }) => [id, debited]));
  for (const sale of reference.sales) {
    if (sale.receiptId === undefined || stored.get(sale.receiptId) === sale.debited) tally.count("durable");
    else tally.violated("what was acknowledged is durable", saleOf(sale));
  }
}

/** Every acknowledged call, asked for again, gets the very same answer. */
export async function checkReplays(market: Market, doors: readonly (string | undefined)[]): Promise<void> {
  const { reference, tally } = market;
  const sales = reference.sales[Symbol.iterator]();
  const replay = async (door: string | undefined): Promise<void> => {
    for (let next = sales.next(); !next.done; next = sales.next()) {
      const { customer, call, digest } = next.value;
      if (door === undefined) throw new Error("an instance is missing");
      const reply = await post(door, customer, call, { ms: 30_000 });
      tally.count("replays");
      if (reply?.status !== 200 || digestOf(reply.text) !== digest)
        tally.violated("a replay is the answer that was acknowledged", { ...saleOf(next.value), reply: reply?.body });
    }
  };
  await Promise.all(Array.from({ length: REPLAYS }, (_, index) => replay(doors[index % doors.length])));
}

/** By the lab's own look at the rows, beside the audit's: no key and no proof has two receipts. */
export async function checkNothingTwice({ ground, tally }: Market): Promise<void> {
  const twice = await ground.rows(
    `select run.account_id, run.claim_key, count(*) as receipts, array_agg(receipt.id) as ids
     from receipt join run on run.id = receipt.run_id where run.claim_key is not null
     group by run.account_id, run.claim_key having count(*) > 1 limit 20`,
  );
  if (twice.length > 0) tally.violated("no key and no proof has two receipts", twice);
}

function saleOf({ customer, call, receiptId, debited }: Sale): object {
  return { account: customer.accountId, key: call.key, tx: call.proof?.tx, receiptId, debited };
}
