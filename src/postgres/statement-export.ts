import type { Pool, PoolClient } from "pg";
import type { Span, StatementExport, StatementRow } from "../app/statement-ports.ts";
import { ToolgateError } from "../domain/errors.ts";
import { ENTRIES_SINCE, ENTRIES_TOTAL, EXPORT, statementRowOf, type ExportRow } from "./entries.ts";
import { transferRange } from "./ledger-time.ts";
import { snapshot } from "./snapshot.ts";

/** Statements that one instance reads at once, and that it reads for one account. Each holds a connection for as long as its reader takes. */
const [AT_ONCE, OF_ONE] = [3, 2];

/** Rows that are held in memory. */
const BATCH = 1_000;

/** How long the reader may leave the database waiting before its statement is over, and how long a part may take to be found, ms. */
const [IDLE_MS, PART_MS] = [60_000, 60_000];

const FETCH = `fetch ${BATCH} from statement`;

/** Reads whole statements in parts, each from one snapshot. */
export class StatementExports {
  readonly #pool: Pool;
  /** Whose are being read. */
  readonly #reading: string[] = [];

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async export(account: string, span: Span, read: (statement: StatementExport) => Promise<void>): Promise<void> {
    const own = this.#reading.filter((other) => other === account).length;
    if (this.#reading.length >= AT_ONCE || own >= OF_ONE) {
      throw new ToolgateError("UNAVAILABLE", "other statements are being read; try again in a moment", {
        retryAfterSeconds: 5,
      });
    }
    this.#reading.push(account);
    try {
      await snapshot(this.#pool, async (client) => {
        await client.query(
          `set local statement_timeout = ${PART_MS}; set local idle_in_transaction_session_timeout = ${IDLE_MS}`,
        );
        const opening = span.from && {
          time: span.from.toISOString(),
          balance: await openingOf(client, account, span.from),
        };
        await open(client, account, span);
        await read({ opening, rows: rowsFrom(client, opening?.balance ?? 0n) });
      });
    } finally {
      this.#reading.splice(this.#reading.indexOf(account), 1);
    }
  }
}

/** What the balance was when a span began: all there is less what came since. */
async function openingOf(client: PoolClient, account: string, from: Date): Promise<bigint> {
  const { low } = await transferRange(client, from, undefined);
  const total = await client.query<{ available: bigint; held: bigint }>(ENTRIES_TOTAL, [account]);
  const sum = { text: ENTRIES_SINCE, values: [account, from, low], query_timeout: PART_MS };
  const since = await client.query<{ amount: bigint }>(sum);
  const [now] = total.rows;
  return (now?.available ?? 0n) + (now?.held ?? 0n) - (since.rows[0]?.amount ?? 0n);
}

async function open(client: PoolClient, account: string, { from, to }: Span): Promise<void> {
  const { low, high } = await transferRange(client, from, to);
  await client.query({ text: EXPORT, values: [account, from ?? "-infinity", to ?? "infinity", low, high] });
}

async function* rowsFrom(client: PoolClient, opening: bigint): AsyncGenerator<readonly StatementRow[]> {
  const fetch = { text: FETCH, query_timeout: PART_MS };
  let balance = opening;
  for (let more = true; more;) {
    const { rows } = await client.query<ExportRow>(fetch);
    more = rows.length === BATCH;
    yield rows.map((row) => statementRowOf(row, (balance += row.amount)));
  }
}
