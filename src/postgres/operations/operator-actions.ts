import type { Pool } from "pg";
import type {
  ActionFilter,
  NewAction,
  OperatorAction,
  OperatorActionLog,
} from "../../app/operations/operator-actions.ts";
import type { Page, PageRequest } from "../../domain/core/page.ts";
import type { Clock, Random } from "../../domain/core/clock.ts";
import { newId, uuidOf } from "../../domain/core/ids.ts";
import { pageOf, readCursor } from "../database/pages.ts";
import { queryWithRetry } from "../database/retry.ts";
import { idFromUuid, uuidFromId } from "../database/row-mapping.ts";

interface ActionRow {
  id: string;
  at: Date;
  account_id: string | null;
  actor: string;
  action: string;
  target: string;
  details: string;
  repeats: string | null;
  failure: string | null;
}

/** A repeat refers to the first action that did not fail. A retry after a lost response changes nothing. */
const RECORD = `
  insert into operator_action (id, account_id, actor, action, target, details, once, repeats)
  values ($1, $2, $3, $4, $5, $6, $7, (
    select first.id from operator_action first
    where first.action = $4 and first.target = $5 and first.once = $7 and first.id < $1
      and not exists (select from operator_action failed where failed.failed_action = first.id)
    order by first.id limit 1))
  on conflict (id) do nothing`;

const RECORD_FAILURE = `
  insert into operator_action (id, account_id, actor, action, target, details, failed_action, failure)
  select $1, account_id, actor, action, target, '{}', id, $3 from operator_action where id = $2
  on conflict (id) do nothing`;

/**
 * A page before action $1, at most $2: with name $3, of account $4 or credential $5, with target $6.
 * Concurrent actions did not see each other when written, so repeats are computed here too.
 */
export const ACTIONS = `
  select done.id, done.at, done.account_id, done.actor, done.action, done.target,
    done.details::text as details,
         coalesce(done.repeats, case when done.once is not null then (
           select first.id from operator_action first
           where first.action = done.action and first.target = done.target and first.once = done.once
             and first.id < done.id
             and not exists (select from operator_action failed where failed.failed_action = first.id)
           order by first.id limit 1) end) as repeats,
         (select failed.failure from operator_action failed where failed.failed_action = done.id
           order by failed.id limit 1) as failure
  from operator_action done
  where done.id < $1 and done.failed_action is null
    and ($3::text is null or done.action = $3)
    and ($4::uuid is null or done.account_id = $4) and ($5::text is null or done.actor = $5)
    and ($6::text is null or done.target = $6)
  order by done.id desc limit $2`;

/** Stored characters of each text: invalid identifiers can be as long as a request. */
const [TARGET, DETAILS, FAILURE] = [200, 8_000, 1_000];

/** Matches API keys, which may appear in the wrong field. */
const SECRET = /(sk-agent|tg-oauth)-[\w-]{12,}/g;

/**
 * The audit log of operators on PostgreSQL. Append-only, enforced by the table: a failure is a second row.
 */
export class PostgresOperatorActions implements OperatorActionLog {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(pool: Pool, clock: Clock, random: Random) {
    this.#pool = pool;
    this.#clock = clock;
    this.#random = random;
  }

  async record({ actor, name, target, details, idempotencyKey }: NewAction): Promise<string> {
    const actionId = newId("act", this.#clock, this.#random);
    const account = actor.accountId === undefined ? null : uuidFromId("acct", actor.accountId);
    const values = [
      uuidFromId("act", actionId),
      account,
      textFrom(actor.name, TARGET),
      name,
      textFrom(target, TARGET),
      jsonFrom(details),
      idempotencyKey === undefined ? null : textFrom(idempotencyKey, DETAILS),
    ];
    await queryWithRetry(this.#pool, { name: "operator-actions-record", text: RECORD, values });
    return actionId;
  }

  async recordFailure(actionId: string, failure: string): Promise<void> {
    const id = uuidFromId("act", newId("act", this.#clock, this.#random));
    const values = [id, uuidFromId("act", actionId), textFrom(failure, FAILURE)];
    await queryWithRetry(this.#pool, {
      name: "operator-actions-record-failure",
      text: RECORD_FAILURE,
      values,
    });
  }

  async list(query: PageRequest & ActionFilter): Promise<Page<OperatorAction>> {
    const { limit, cursor, action, operator, target } = query;
    const account = operator === undefined ? undefined : uuidOf("acct", operator);
    const actor = account === undefined ? operator : undefined;
    const values = [readCursor("actions", cursor), limit + 1, action, account, actor, target];
    const rows = await queryWithRetry<ActionRow>(this.#pool, {
      name: "operator-actions-list",
      text: ACTIONS,
      values,
    });
    return pageOf("actions", limit, rows, actionOf);
  }
}

export function withoutApiKeys(text: string): string {
  return text.replaceAll(SECRET, "$1-***");
}

/** PostgreSQL text excludes NUL and lone surrogates. */
function textFrom(text: string, most: number): string {
  return withoutApiKeys(text).slice(0, most).replaceAll("\0", "").toWellFormed();
}

function jsonFrom(details: NewAction["details"]): string {
  const text = withoutApiKeys(JSON.stringify(details));
  return text.length <= DETAILS ? text : JSON.stringify({ cut: text.slice(0, DETAILS) });
}

function actionOf(row: ActionRow): OperatorAction {
  return {
    actionId: idFromUuid("act", row.id),
    at: row.at,
    actor: {
      accountId: row.account_id === null ? undefined : idFromUuid("acct", row.account_id),
      name: row.actor,
    },
    name: row.action,
    target: row.target,
    details: row.details,
    failure: row.failure ?? undefined,
    repeatOf: row.repeats === null ? undefined : idFromUuid("act", row.repeats),
  };
}
