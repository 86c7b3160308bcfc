import { DatabaseError, type Pool, type PoolClient } from "pg";
import type {
  AccountContents,
  AccountMoves,
  AnswerPage,
  CellAccount,
  Departure,
  DepartResult,
} from "../../app/cells/account-moves.ts";
import type { SealedBodies } from "../../domain/accounts/sealed-bodies.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { uuidOf } from "../../domain/core/ids.ts";
import { queryWithRetry, RETRY_MS, withRetry } from "../database/retry.ts";
import { idFromUuid } from "../database/row-mapping.ts";
import { addMovedWebhooks, movedWebhooks } from "./moved-webhooks.ts";

/** The lowest run, and the reference of a rehearsed move. */
const NIL = "00000000-0000-0000-0000-000000000000";

/** Stored answers per page. */
const PAGE = 500;

/** "repeated": it had arrived before. */
const ARRIVE = /* sql */ `
  select account_arrive($1, $2, $3, $4, $5, $6) as account,
    exists (select from account_move where id = $1 and direction = 'in') as repeated`;

/** SQLSTATE of account_arrive for an account that is moving itself. */
const MOVING = "TG001";

interface DepartRow {
  outcome: Exclude<DepartResult["kind"], "departed"> | "departed";
  reference: string;
  amount: bigint;
  rest: boolean;
  contents: string;
  moved_to: number;
}

/** Moves of accounts on PostgreSQL. The SQL functions `account_*` hold the rules. */
export class PostgresAccountMoves implements AccountMoves {
  readonly cell: number;
  readonly #pool: Pool;
  readonly #openBodies: () => Promise<SealedBodies>;

  /** @param openBodies for the secrets of webhooks, which each cell seals with its own keys */
  constructor(pool: Pool, cell: number, openBodies: () => Promise<SealedBodies>) {
    this.#pool = pool;
    this.cell = cell;
    this.#openBodies = openBodies;
  }

  async find(accountId: string): Promise<CellAccount | undefined> {
    const [row] = await this.#query<{ contents: string; moved_to: number | null }>(
      "select account_contents(id)::text as contents, moved_to from account where id = $1",
      [uuidOf("acct", accountId)],
    );
    if (!row) return undefined;
    return { contents: await this.#contents(accountId, row.contents), movedTo: row.moved_to ?? undefined };
  }

  async freeze(accountId: string, frozen: boolean): Promise<boolean> {
    const text = "select account_freeze($1, $2) as done";
    const [row] = await this.#query<{ done: boolean }>(text, [uuidOf("acct", accountId), frozen]);
    return row?.done === true;
  }

  async depart(accountId: string, to: number, newReference: string): Promise<DepartResult> {
    const [row] = await this.#query<DepartRow>(
      `select outcome, reference, amount, rest, contents::text as contents, moved_to
       from account_depart($1, $2, $3)`,
      [uuidOf("acct", accountId), newReference, to],
    );
    if (!row) return { kind: "unknown" };
    const { outcome, moved_to, contents, ...departure } = row;
    if (outcome === "departed")
      return { kind: outcome, ...departure, contents: await this.#contents(accountId, contents) };
    return outcome === "elsewhere" ? { kind: outcome, cell: moved_to } : { kind: outcome };
  }

  async firstOpenRun(accountId: string): Promise<string> {
    const text = "select account_first_open_run($1) as id";
    const [row] = await this.#query<{ id: string }>(text, [uuidOf("acct", accountId)]);
    return row?.id ?? NIL;
  }

  async answers(accountId: string, since: string, firstRun = NIL): Promise<AnswerPage> {
    const rows = await this.#query<{ key: string; answer: string }>(
      "select key, answer::text as answer from account_answers_page($1, $2, $3, $4)",
      [uuidOf("acct", accountId), firstRun, since, PAGE],
    );
    // As text, because a parsed answer would lose characters.
    const answers = `[${rows.map(({ answer }) => answer).join(",")}]`;
    return { answers, next: rows.length < PAGE ? undefined : rows.at(-1)?.key };
  }

  async addAnswers(contents: AccountContents, answers: string): Promise<void> {
    await this.#query("select account_answers_add($1, $2)", [contents.rows, answers]);
  }

  async arrive(departure: Departure, from: number): Promise<string> {
    const account = await this.#transaction("commit", (client) => this.#arrive(client, departure, from));
    return idFromUuid("acct", account);
  }

  async rehearse(contents: AccountContents, from: number): Promise<void> {
    const departure = { reference: NIL, amount: 0n, rest: false, contents };
    await this.#transaction("rollback", (client) => this.#arrive(client, departure, from));
  }

  async noteArrival(reference: string, accountId: string): Promise<void> {
    await this.#query("select account_arrived($1, $2)", [reference, uuidOf("acct", accountId)]);
  }

  async unfinished(): Promise<{ accountId: string; to: number }[]> {
    const rows = await this.#query<{ id: string; to: number }>(
      `select id, moved_to as to from account
       where moved_to is not null and (available <> 0 or exists (
         select from account_move move where move.account_id = account.id and move.other_account is null))
       order by id`,
    );
    return rows.map(({ id, to }) => ({ accountId: idFromUuid("acct", id), to }));
  }

  async #contents(accountId: string, rows: string): Promise<AccountContents> {
    return { rows, webhooks: await movedWebhooks(this.#pool, await this.#openBodies(), accountId) };
  }

  /** @returns the account's uuid */
  async #arrive(client: PoolClient, departure: Departure, from: number): Promise<string> {
    const { reference, amount, rest, contents } = departure;
    const values = [reference, from, this.cell, amount, rest, contents.rows];
    const { rows } = await client
      .query<{ account: string; repeated: boolean }>(ARRIVE, values)
      .catch(refused);
    const [row] = rows;
    if (!row) throw new Error("the arrival returned no account");
    if (!rest && !row.repeated)
      await addMovedWebhooks(client, await this.#openBodies(), row.account, contents.webhooks);
    return row.account;
  }

  #query<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
    return queryWithRetry<Row>(this.#pool, { text, values });
  }

  #transaction<Result>(
    end: "commit" | "rollback",
    run: (client: PoolClient) => Promise<Result>,
  ): Promise<Result> {
    return withRetry(RETRY_MS, async () => {
      const client = await this.#pool.connect();
      let broken: Error | undefined;
      try {
        await client.query("begin");
        const result = await run(client);
        await client.query(end);
        return result;
      } catch (error) {
        await client.query("rollback").catch((cause: Error) => (broken = cause));
        throw error;
      } finally {
        client.release(broken);
      }
    });
  }
}

/** Names what the cell lacks. */
function refused(error: unknown): never {
  if (!(error instanceof DatabaseError)) throw error;
  if (error.constraint === "account_tier_foreign")
    throw new ToolgateError(
      "INVALID_REQUEST",
      "account: its tier is not in the configuration of the other cell; apply the same document there",
      { cause: error },
    );
  if (error.code === MOVING)
    throw new ToolgateError("INVALID_REQUEST", `account: ${error.message}`, { cause: error });
  throw error;
}
