import { createHmac, hash, timingSafeEqual } from "node:crypto";
import type { Pool, PoolClient } from "pg";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { SealingKey, SealingKeys } from "../../domain/payments/quote.ts";
import type { Page, PageRequest } from "../../domain/core/page.ts";
import type {
  AccountBalance,
  Entry,
  Span,
  StatementExport,
  Statements,
} from "../../app/accounts/statements.ts";
import { AFTER_ALL_ENTRIES, BEFORE_ALL_ENTRIES, entryRange } from "../database/entry-ids.ts";
import { queryWithRetry } from "../database/retry.ts";
import { uuidFromId } from "../database/row-mapping.ts";
import { inSnapshot } from "../database/pool.ts";
import { accountMonths, ArchivedRows } from "../archived/archived-rows.ts";
import {
  ENTRIES_PAGE,
  ENTRIES_SUM,
  ENTRIES_TOTAL,
  entryOf,
  SETTLED_ENTRY,
  type EntryRow,
  entriesBeside,
} from "./entries.ts";
import { StatementExports } from "./statement-export.ts";
import { AccountQueue } from "./account-queue.ts";
import { rateLimitsOf, type LimitsRow } from "./key-rows.ts";

/** Start of a page of entries, and the base of its balances. */
interface StatementPosition {
  /** A uuid; entries of the page have smaller ones. */
  before: string;
  /** An entry, or the smallest uuid, that can get no more predecessors. */
  anchor: string;
  /** Sum of all entries up to and including the anchor, micro-USD. */
  balance: MicroUsd;
}

const [VERSION, POSITION, MAC] = [2, 40, 16];

/** Encodes a position with a MAC, bound to the account, so that clients cannot forge the balance. */
function sealCursor(keys: SealingKeys, account: string, position: StatementPosition): string {
  const key = keys.current();
  const text = Buffer.alloc(VERSION + POSITION);
  text.writeUInt16BE(key.version, 0);
  text.set(uuidBytes(position.before), 2);
  text.set(uuidBytes(position.anchor), 18);
  text.writeBigInt64BE(position.balance, 34);
  return Buffer.concat([text, macOf(key, account, text)]).toString("base64url");
}

/** @throws ToolgateError INVALID_REQUEST for a cursor that was not sealed for this account */
function openCursor(keys: SealingKeys, account: string, cursor: string): StatementPosition {
  const bytes = Buffer.from(cursor, "base64url");
  const text = bytes.subarray(0, VERSION + POSITION);
  const key = bytes.length === VERSION + POSITION + MAC ? keys.version(bytes.readUInt16BE(0)) : undefined;
  const genuine =
    key !== undefined &&
    bytes.toString("base64url") === cursor &&
    timingSafeEqual(bytes.subarray(VERSION + POSITION), macOf(key, account, text));
  if (!genuine)
    throw invalidField("cursor", "is not one of this list; send next_cursor of the page before, unchanged");
  return {
    before: uuidText(text.subarray(2, 18)),
    anchor: uuidText(text.subarray(18, 34)),
    balance: text.readBigInt64BE(34),
  };
}

function uuidBytes(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll("-", ""), "hex");
}

/** As PostgreSQL writes it, so that texts compare as ids do. */
function uuidText(bytes: Buffer): string {
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** Derived key, as the secret itself seals quotes. */
function macOf({ secret }: SealingKey, account: string, text: Buffer): Buffer {
  const derived = hash("sha256", Buffer.concat([Buffer.from("statement cursor"), secret]), "buffer");
  return createHmac("sha256", derived)
    .update(account.replaceAll("-", ""))
    .update(text)
    .digest()
    .subarray(0, MAC);
}

/** Charges of account $1 among entries from $2 on, of 30 days, and since midnight UTC. */
const SPENT_TOTALS = /* sql */ `
  select coalesce(sum(debited) filter (where created_at >= date_trunc('day', now(), 'UTC')),
    0)::bigint as today,
         coalesce(sum(debited), 0)::bigint as month
  from receipt where account_id = $1 and id >= $2`;

interface TotalRow extends LimitsRow {
  available: bigint;
  held: bigint;
  low_balance: bigint | null;
}

/** Statements on PostgreSQL. Every figure comes from ledger entries; none is stored separately. */
export class PostgresStatements implements Statements {
  readonly #pool: Pool;
  readonly #keys: SealingKeys;
  readonly #archived: ArchivedRows;
  readonly #exports: StatementExports;
  readonly #queue = new AccountQueue();

  constructor(pool: Pool, keys: SealingKeys, archived = new ArchivedRows(undefined)) {
    this.#pool = pool;
    this.#keys = keys;
    this.#archived = archived;
    this.#exports = new StatementExports(pool, archived);
  }

  balance(accountId: string): Promise<AccountBalance> {
    return this.#queue.run(accountId, () => this.#balance(accountId));
  }

  async #balance(accountId: string): Promise<AccountBalance> {
    const account = uuidFromId("acct", accountId);
    return inSnapshot(this.#pool, async (client) => {
      const total = await totalOf(client, account);
      const spent = await spentOf(client, account);
      return {
        available: total.available,
        held: total.held,
        spentToday: spent.today,
        spent30Days: spent.month,
        lowBalance: total.low_balance ?? undefined,
        ...rateLimitsOf(total),
      };
    });
  }

  async setLowBalance(accountId: string, amount: MicroUsd | undefined): Promise<void> {
    await queryWithRetry(this.#pool, {
      name: "statement-set-low-balance",
      text: `update account set low_balance = $2, low_balance_reported = coalesce(available < $2, false)
             where id = $1`,
      values: [uuidFromId("acct", accountId), amount],
    });
  }

  /**
   * Entries commit slightly out of order, so a lower id can still appear next to the newest ones.
   * Balances therefore start from an anchor that can get no more predecessors, stored in the cursor:
   * consecutive pages agree, and each reads only itself and about a minute of entries.
   */
  async entries(query: PageRequest & { accountId: string }): Promise<Page<Entry>> {
    const account = uuidFromId("acct", query.accountId);
    const position = query.cursor === undefined ? undefined : openCursor(this.#keys, account, query.cursor);
    return inSnapshot(this.#pool, async (client) => {
      const before = position?.before ?? AFTER_ALL_ENTRIES;
      let balance = await balanceBefore(client, account, position);
      const months = await accountMonths(client, account);
      const page = { text: ENTRIES_PAGE, values: [account, before, query.limit + 1] };
      const wanted = { to: before, order: "newest", count: query.limit + 2 } as const;
      const rows =
        months.length === 0
          ? await rowsOf<EntryRow>(client, "entries-page", page.text, page.values)
          : await entriesBeside<EntryRow>(client, page, {
              archived: this.#archived,
              account,
              months,
              wanted,
            });
      const shown = rows.slice(0, query.limit);
      const items: Entry[] = [];
      for (const row of shown) {
        items.push(entryOf(row, balance));
        balance -= row.amount;
      }
      const [last, next] = [shown.at(-1), rows[query.limit]];
      if (!last || !next) return { items, nextCursor: undefined };
      const end = await positionAfter(client, account, {
        before: last.id,
        next,
        balance,
        position,
        archivedTo: greatest(months.map((month) => month.last ?? undefined)),
      });
      return { items, nextCursor: sealCursor(this.#keys, account, end) };
    });
  }

  export(accountId: string, span: Span): Promise<StatementExport> {
    return this.#exports.export(uuidFromId("acct", accountId), span);
  }
}

/** Sum of all entries before a position; without one, of all entries. */
async function balanceBefore(
  client: PoolClient,
  account: string,
  position: StatementPosition | undefined,
): Promise<MicroUsd> {
  if (position) return position.balance + (await sumOf(client, account, position.anchor, position.before));
  const { available, held } = await totalOf(client, account);
  return available + held;
}

/** The position after a page. `balance` is the balance after `next`, the newest remaining entry. */
async function positionAfter(
  client: PoolClient,
  account: string,
  at: {
    before: string;
    next: EntryRow;
    balance: MicroUsd;
    position: StatementPosition | undefined;
    archivedTo: string | undefined;
  },
): Promise<StatementPosition> {
  const { before, next, balance, position } = at;
  if (next.settled || (position && next.id <= position.anchor)) return { before, anchor: next.id, balance };
  if (position) return { ...position, before };
  const [settled] = await rowsOf<{ id: string }>(client, "entries-settled", SETTLED_ENTRY, [account, before]);
  // Archived runs are always settled.
  const anchor = greatest([settled?.id, at.archivedTo]) ?? BEFORE_ALL_ENTRIES;
  return { before, anchor, balance: balance - (await sumOf(client, account, anchor, before)) };
}

function greatest(ids: readonly (string | undefined)[]): string | undefined {
  return ids
    .filter((id) => id !== undefined)
    .toSorted()
    .at(-1);
}

async function sumOf(client: PoolClient, account: string, after: string, before: string): Promise<MicroUsd> {
  const [row] = await rowsOf<{ amount: bigint }>(client, "entries-sum", ENTRIES_SUM, [
    account,
    after,
    before,
  ]);
  return row?.amount ?? 0n;
}

async function spentOf(client: PoolClient, account: string): Promise<{ today: bigint; month: bigint }> {
  const [row] = await rowsOf<{ since: Date }>(
    client,
    "statement-month",
    "select date_trunc('day', now(), 'UTC') - interval '29 days' as since",
    [],
  );
  const { low } = entryRange(row?.since, undefined);
  const [spent] = await rowsOf<{ today: bigint; month: bigint }>(client, "statement-spent", SPENT_TOTALS, [
    account,
    low,
  ]);
  return spent ?? { today: 0n, month: 0n };
}

/** @throws ToolgateError NOT_FOUND */
async function totalOf(client: PoolClient, account: string): Promise<TotalRow> {
  const [row] = await rowsOf<TotalRow>(client, "entries-total", ENTRIES_TOTAL, [account]);
  if (!row) throw new ToolgateError("NOT_FOUND", "there is no such account");
  return row;
}

async function rowsOf<Row extends object>(
  client: PoolClient,
  name: string,
  text: string,
  values: unknown[],
): Promise<Row[]> {
  return (await client.query<Row>({ name, text, values })).rows;
}
