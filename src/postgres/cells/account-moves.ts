import { type Pool, type PoolClient, DatabaseError } from "pg";
import type {
  MovedWebhook,
  AccountContents,
  AccountMoves,
  AnswerPage,
  CellAccount,
  Departure,
  DepartResult,
} from "../../app/cells/account-moves.ts";
import { MAX_ENDPOINTS } from "../../app/webhooks/webhook-endpoints.ts";
import type { SealedBodies } from "../../domain/accounts/sealed-bodies.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { uuidOf } from "../../domain/core/ids.ts";
import { inTransaction } from "../database/pool.ts";
import { queryWithRetry, RETRY_MS, withRetry } from "../database/retry.ts";
import { idFromUuid } from "../database/row-mapping.ts";
import { openSecrets, SECRET_COLUMNS, type SecretsRow } from "../webhooks/webhook-queue.ts";

interface EndpointRow extends SecretsRow {
  url: string;
  types: string[];
  disabled: string | null;
  verified: boolean;
  old_until: Date | null;
  created_at: Date;
}

const LIST = /* sql */ `
  select ${SECRET_COLUMNS}, url, types, disabled, verified, old_until, created_at
  from webhook_endpoint where account_id = $1 order by slot`;

/** An account that comes back has the endpoints that it had last; they keep what they were sent here. */
const REMOVE = /* sql */ `
  with gone as (
    delete from webhook_endpoint where id = any($2) or account_id = $1 and exists (
      select from account_move where account_id = $1 and direction = 'out')
    returning id),
  deleted as (select id from gone where id <> all($2)),
  deliveries as (delete from webhook_delivery where endpoint_id in (select id from deleted)),
  attempts as (delete from webhook_attempt where endpoint_id in (select id from deleted))
  select id from deleted`;

const ADD = /* sql */ `
  insert into webhook_endpoint (
    id, account_id, slot, url, types, disabled, key_version, secret, old_key_version, old_secret, old_until,
    created_at, verified)
  select $1, $2, slot, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12
  from generate_series(1, ${MAX_ENDPOINTS}) slot
  where slot not in (select slot from webhook_endpoint where account_id = $2)
  order by slot limit 1
  returning id`;

/** Endpoints of an account that is about to leave; without those whose sealing key was retired. */
async function movedWebhooks(pool: Pool, bodies: SealedBodies, accountId: string): Promise<MovedWebhook[]> {
  const rows = await queryWithRetry<EndpointRow>(pool, { text: LIST, values: [uuidOf("acct", accountId)] });
  const endpoints = await Promise.all(
    rows.map(
      async ({ id, url, types, disabled, verified, old_until: until, created_at: createdAt, ...sealed }) => {
        const [secret, old] = await openSecrets(bodies, { id, ...sealed });
        const oldSecret = old !== undefined && until !== null ? { secret: old, until } : undefined;
        const state = { disabled: disabled ?? undefined, verified };
        return { id, url, types, ...state, secret, oldSecret, createdAt };
      },
    ),
  );
  return endpoints.flatMap(({ secret, ...rest }) => (secret === undefined ? [] : [{ secret, ...rest }]));
}

/**
 * Stores the endpoints of an account that arrives, within its transaction.
 * @param account uuid
 * @throws ToolgateError INVALID_REQUEST when the account would have too many
 */
async function addMovedWebhooks(
  client: PoolClient,
  bodies: SealedBodies,
  account: string,
  webhooks: readonly MovedWebhook[],
): Promise<void> {
  const owner = idFromUuid("acct", account);
  await client.query(REMOVE, [account, webhooks.map(({ id }) => id)]);
  for (const { id, url, types, disabled, verified, createdAt, ...secrets } of webhooks) {
    const seal = (secret: string) => bodies.seal(owner, idFromUuid("we", id), secret);
    const [now, old] = [seal(secrets.secret), secrets.oldSecret && seal(secrets.oldSecret.secret)];
    const added = await client.query(ADD, [
      id,
      account,
      url,
      types,
      disabled,
      now.version,
      now.sealed,
      old?.version,
      old?.sealed,
      secrets.oldSecret?.until,
      createdAt,
      verified,
    ]);
    if (added.rowCount === 0)
      throw new ToolgateError(
        "INVALID_REQUEST",
        `account: it and its wallet's account in the other cell have more than ${MAX_ENDPOINTS} webhook ` +
          "endpoints together; delete some first",
      );
  }
}

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
    return idFromUuid("acct", await this.#arrive(departure, from, "commit"));
  }

  async rehearse(contents: AccountContents, from: number): Promise<void> {
    const departure = { reference: NIL, amount: 0n, rest: false, contents };
    await this.#arrive(departure, from, "rollback");
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
  #arrive(departure: Departure, from: number, end: "commit" | "rollback"): Promise<string> {
    const { reference, amount, rest, contents } = departure;
    const values = [reference, from, this.cell, amount, rest, contents.rows];
    const arrive = async (client: PoolClient) => {
      const { rows } = await client
        .query<{ account: string; repeated: boolean }>(ARRIVE, values)
        .catch(refused);
      const [row] = rows;
      if (!row) throw new Error("the arrival returned no account");
      if (!rest && !row.repeated)
        await addMovedWebhooks(client, await this.#openBodies(), row.account, contents.webhooks);
      return row.account;
    };
    return withRetry(RETRY_MS, () => inTransaction(this.#pool, arrive, { end }));
  }

  #query<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
    return queryWithRetry<Row>(this.#pool, { text, values });
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
