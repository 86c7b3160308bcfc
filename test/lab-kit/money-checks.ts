import { base58 } from "@scure/base";
import { address } from "@solana/kit";
import { decodeTokenAccount } from "../../src/localchain/token-account.ts";
import type { Ask } from "./ground.ts";
import type { Market } from "./market.ts";
import type { Expected, Payment } from "./reference.ts";
import { until } from "../support/until.ts";
import { walletId } from "./wallet.ts";

/** Maximum time until the ledger matches the chain, ms: new leader, finality, busy machine. */
const RECORDED_MS = 60_000;

const CREDITED = "a payment that was reported as credited is credited";

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
  for (const expected of reference.accounts) {
    const { customer, receipts, nameless } = expected;
    const { accountId: account, opening } = customer;
    const row = accounts.get(account);
    // Nothing was sold to a wallet whose payments never landed.
    if (row ? isAsExpected(expected, row) : receipts.size === 0 && customer.apiKey === undefined) continue;
    const runs = await ground.rows(
      `select id, status, claim_key, price, error_code, created_at, ended_at from run
        where account_id = $1 order by created_at desc limit 8`,
      [(row?.account_id ?? account).slice("acct_".length)],
    );
    const details = { account, opening, acknowledged: receipts.size, nameless, row, runs };
    tally.violated("each account is what was paid less what was answered", details);
  }
  const left = new Map([...reference.payments].filter(([, { credited }]) => credited));
  for (const { tx, account_id, wallet, amount, reversed } of deposits.values()) {
    left.delete(tx);
    const paid = reference.payments.get(tx);
    const owner = paid?.owner?.accountId ?? SUSPENSE;
    const right = paid?.amount === amount && [account_id, walletId(wallet ?? "")].includes(owner);
    if (!right || (reversed && !paid.dropped)) {
      const details = { tx, account_id, amount, reversed, paid };
      tally.violated("each deposit is a payment of its account, and stays", details);
    }
  }
  for (const [tx, payment] of left) tally.violated(CREDITED, paymentOf(tx, payment));
}

/** Waits until the treasury watch credits announced payments, unless a fork removed them. */
async function creditedAsPromised({ ground, reference, tally }: Market): Promise<void> {
  let left = [...reference.payments].filter(([, { promised, dropped }]) => promised && !dropped);
  const allCredited = async () => {
    const credited = left.length === 0 ? new Map() : await depositRows(ground.rows);
    left = left.filter(([tx]) => !credited.has(tx));
    return left.length === 0;
  };
  await until(allCredited, RECORDED_MS).catch(() => {});
  for (const [tx, payment] of left)
    tally.violated(CREDITED, { ...paymentOf(tx, payment), within: RECORDED_MS });
}

/**
 * Checks that the ledger finally matches the chain, including unproven payments and without forked-out ones.
 */
export async function checkTreasury(market: Market, logs: () => readonly string[]): Promise<void> {
  const { ground, reference, tally } = market;
  const { chain } = ground.chain;
  for (const [tx, { uncertain }] of reference.payments)
    if (uncertain && chain.history.get(tx)?.err !== null) reference.payments.delete(tx);
  const payments = [...reference.payments];
  const sent = payments.reduce((sum, [, { amount, dropped }]) => sum + (dropped ? 0n : amount), 0n);
  let difference: object = {};
  const matches = async () => {
    const deposits = await depositRows(ground.rows);
    const wrong = payments.filter(([tx, { dropped }]) => {
      const reversed = deposits.get(tx)?.reversed;
      return dropped ? reversed === false : reversed !== false;
    });
    const [watch] = await ground.rows<{ expected: bigint }>("select expected from treasury_watch");
    const held = decodeTokenAccount(chain.account(address(ground.payTo)))?.amount;
    const some = wrong
      .slice(0, 20)
      .map(([tx, payment]) => ({ ...paymentOf(tx, payment), deposit: deposits.get(tx) }));
    difference = { held, sent, ledger: watch?.expected, wrong: wrong.length, some };
    return wrong.length === 0 && held === sent && watch?.expected === sent;
  };
  if (await until(matches, RECORDED_MS).catch(() => false)) return checkMoney(market);
  const leader = await ground.rows("select owner, until, now() as at from leadership");
  const details = { ...difference, leader, logs: logs().map((log) => log.slice(-4_000)) };
  tally.violated("the ledger comes to hold what the chain holds", details);
}

function paymentOf(tx: string, { owner, amount, dropped }: Payment): object {
  return { tx, account: owner?.accountId, amount, dropped };
}

function isAsExpected({ customer, receipts, nameless }: Expected, row: AccountRow): boolean {
  if (row.available + row.held !== customer.opening + row.deposited - row.charged) return false;
  if (nameless > 0) return row.receipts >= BigInt(receipts.size) && row.receipts <= BigInt(nameless);
  const charged = [...receipts.values()].reduce((sum, debited) => sum + debited, 0n);
  return row.charged === charged && row.receipts === BigInt(receipts.size);
}

/** By account, and by wallet for those without a key. */
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
  return new Map(found.flatMap((row) => [row.account_id, walletId(row.wallet)].map((id) => [id, row])));
}

/** By transaction. */
async function depositRows(rows: Ask): Promise<Map<string, Deposit>> {
  const found = await rows<Omit<Deposit, "tx"> & { tx: Buffer }>(
    `select payment.reference as tx, 'acct_' || encode(uuid_send(transfer.credit), 'hex') as account_id,
        account.wallet, transfer.amount, payment.reversed
     from transfer left join account on account.id = transfer.credit
     join payment on payment_ref(payment.network, payment.reference) = transfer.ref
     where transfer.kind = 'deposit'`,
  );
  return new Map(found.map((row) => ({ ...row, tx: base58.encode(row.tx) })).map((row) => [row.tx, row]));
}
