import { setTimeout as sleep } from "node:timers/promises";
import { base58 } from "@scure/base";
import type { Ask } from "./environment.ts";
import type { Market } from "./market.ts";
import type { Book } from "./reference.ts";

/** Maximum time until the ledger matches the chain, ms: new leader, finality, busy machine. */
const RECORDED_MS = 60_000;

const CREDITED = "a payment that was said to be credited is credited";

const SUSPENSE = "acct_00000000000000000000000000000003";

interface AccountRow {
  account_id: string;
  wallet: string;
  available: bigint;
  /** Amount in open holds of abandoned calls, which end by themselves. */
  held: bigint;
  /** Deposits less reversals. */
  deposited: bigint;
  receipts: bigint;
  charged: bigint;
}

interface Deposit {
  tx: string;
  account_id: string;
  /** Null for an account of the system. */
  wallet: string | null;
  amount: bigint;
  reversed: boolean;
}

/** Checks that every balance is payments less charges, and every deposit an on-chain payment. */
export async function checkMoney(market: Market): Promise<void> {
  const { ground, reference, tally } = market;
  await creditedAsPromised(market);
  const { accounts, deposits } = await ground.snapshot(async (rows) => ({
    accounts: await accountRows(rows),
    deposits: await depositRows(rows),
  }));
  for (const book of reference.books) {
    const { accountId } = book.customer;
    const row = accounts.get(accountId);
    // Nothing was sold to a wallet whose payments never landed.
    if (row ? isAsExpected(book, row) : book.receipts.size === 0 && isWallet(book)) continue;
    const runs = await ground.rows(
      `select id, status, claim_key, price, error_code, created_at, ended_at from run
        where account_id = $1 order by created_at desc limit 8`,
      [(row?.account_id ?? accountId).slice("acct_".length)],
    );
    const { opening } = book.customer;
    tally.violated("each account is what was paid less what was answered", {
      ...{ account: accountId, opening, acknowledged: book.receipts.size, nameless: book.nameless },
      ...{ row, runs },
    });
  }
  const left = new Map([...reference.payments].filter(([, { reported }]) => reported));
  for (const { tx, account_id, wallet, amount, reversed } of deposits) {
    left.delete(tx);
    const paid = reference.payments.get(tx);
    const right =
      paid?.amount === amount &&
      [account_id, walletId(wallet ?? "")].includes(paid.owner?.accountId ?? SUSPENSE);
    if (!right || (reversed && !paid.dropped))
      tally.violated("each deposit is a payment of its account, and stays", {
        tx,
        account_id,
        amount,
        reversed,
        paid,
      });
  }
  for (const [tx, { owner, amount }] of left)
    tally.violated(CREDITED, { tx, account: owner?.accountId, amount });
}

/** Waits until the treasury watch credits announced payments, unless a fork removed them. */
async function creditedAsPromised({ ground, reference, tally }: Market): Promise<void> {
  const since = performance.now();
  let left = [...reference.payments].filter(([, { promised, dropped }]) => promised && !dropped);
  while (left.length > 0) {
    const credited = new Set((await depositRows(ground.rows)).map(({ tx }) => tx));
    left = left.filter(([tx]) => !credited.has(tx));
    if (left.length === 0) return;
    if (performance.now() - since > RECORDED_MS) {
      for (const [tx, { owner, amount }] of left)
        tally.violated(CREDITED, { tx, account: owner?.accountId, amount, within: RECORDED_MS });
      return;
    }
    await sleep(250);
  }
}

/**
 * Checks that the ledger finally matches the chain, including unproven payments and without forked-out ones.
 */
export async function checkTreasury(market: Market, logs: () => readonly string[]): Promise<void> {
  const { ground, reference, tally } = market;
  for (const [tx, { uncertain }] of reference.payments)
    if (uncertain && !(await ground.chain.landed(tx))) reference.neverLanded(tx);
  let sent = 0n;
  for (const { amount, dropped } of reference.payments.values()) sent += dropped ? 0n : amount;
  const since = performance.now();
  for (;;) {
    const deposits = new Map((await depositRows(ground.rows)).map((deposit) => [deposit.tx, deposit]));
    const wrong = [...reference.payments].filter(([tx, { dropped }]) => {
      const deposit = deposits.get(tx);
      return dropped ? deposit?.reversed === false : deposit?.reversed !== false;
    });
    const [watch] = await ground.rows<{ expected: bigint }>("select expected from treasury_watch");
    const held = await ground.chain.usdc(ground.treasury.publicKey);
    if (wrong.length === 0 && held === sent && watch?.expected === sent) break;
    if (performance.now() - since > RECORDED_MS) {
      const some = wrong.slice(0, 20).map(([tx, { owner, amount, dropped }]) => ({
        ...{ tx, account: owner?.accountId, amount, dropped },
        deposit: deposits.get(tx),
      }));
      const leader = await ground.rows("select owner, until, now() as at from leadership");
      const reported = {
        held,
        sent,
        books: watch?.expected,
        leader,
        logs: logs(),
        wrong: wrong.length,
        some,
      };
      tally.violated("the books come to hold what the chain holds", reported);
      return;
    }
    await sleep(250);
  }
  await checkMoney(market);
}

/** The account of a wallet without a key, see {@link Customer}. */
export function walletId(wallet: string): string {
  return `wallet:${wallet}`;
}

function isWallet({ customer }: Book): boolean {
  return customer.apiKey === undefined;
}

function isAsExpected({ customer, receipts, nameless }: Book, row: AccountRow): boolean {
  if (row.available + row.held !== customer.opening + row.deposited - row.charged) return false;
  if (nameless > 0) return row.receipts >= BigInt(receipts.size) && row.receipts <= BigInt(nameless);
  let charged = 0n;
  for (const debited of receipts.values()) charged += debited;
  return row.charged === charged && row.receipts === BigInt(receipts.size);
}

async function accountRows(rows: Ask): Promise<Map<string, AccountRow>> {
  const found = await rows<AccountRow>(
    `select 'acct_' || encode(uuid_send(account.id), 'hex') as account_id, account.wallet, account.available,
        coalesce(paid.amount, 0)::bigint as deposited,
            coalesce(open.amount, 0)::bigint as held,
            coalesce(bought.count, 0) as receipts, coalesce(bought.amount, 0)::bigint as charged
     from account
     left join (select account_id, sum(price) as amount from run where status = 'active'
       group by account_id) open on open.account_id = account.id
     left join (select account_id, count(*) as count, sum(debited) as amount from receipt
       group by account_id) bought on bought.account_id = account.id
     left join (
       select account_id, sum(amount) as amount from (
         select credit as account_id, amount from transfer where kind in ('deposit', 'reinstatement')
         union all select debit, -amount from transfer where kind = 'reversal'
       ) side group by account_id
     ) paid on paid.account_id = account.id`,
  );
  return new Map(
    found.flatMap((row) => [
      [row.account_id, row],
      [walletId(row.wallet), row],
    ]),
  );
}

async function depositRows(rows: Ask): Promise<Deposit[]> {
  const found = await rows<Omit<Deposit, "tx"> & { tx: Buffer }>(
    `select payment.reference as tx, 'acct_' || encode(uuid_send(transfer.credit), 'hex') as account_id,
        account.wallet, transfer.amount, payment.reversed
     from transfer left join account on account.id = transfer.credit
     join payment on payment_ref(payment.network, payment.reference) = transfer.ref
     where transfer.kind = 'deposit'`,
  );
  return found.map((row) => ({ ...row, tx: base58.encode(row.tx) }));
}
