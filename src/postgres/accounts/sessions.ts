import { createHash } from "node:crypto";
import type { Pool } from "pg";
import type { Session, Sessions, SignedIn } from "../../app/accounts/authenticator.ts";
import { NO_CELL, type Cell, newId, uuidOf } from "../../domain/core/ids.ts";
import type { Clock, Random } from "../../domain/core/clock.ts";
import { SCOPES } from "../../domain/accounts/scope.ts";
import { SESSION_IDLE_MS, SESSION_MS, type SignInInput } from "../../domain/accounts/sign-in.ts";
import { DatabaseUnavailableError } from "../database/database-errors.ts";
import { queryWithRetry } from "../database/retry.ts";
import { idFromUuid, uuidFromId } from "../database/row-mapping.ts";
import type { SignInChallenges, UsedNonces } from "../../app/accounts/sign-in.ts";
import type { Parts } from "../database/parts.ts";
import { rateLimitsOf, type LimitsRow } from "./key-rows.ts";

interface SessionsOptions extends Pick<Parts, "pool" | "clock" | "random"> {
  cell?: Cell;
}

export const MAX_SESSIONS = 50;

/** Minimum interval between updates of the last use, ms. */
const USE_MS = 60_000;

const TOKEN_BYTES = 32;

interface SessionRow extends LimitsRow {
  id: string;
  account_id: string;
  wallet: string;
  operator: boolean;
  blocked_reason: string | null;
  created_at: Date;
  last_used_at: Date;
  expires_at: Date;
  address: string;
  user_agent: string;
}

/** Blocked operators lose their operator rights. */
const SELECT = `
  select session.id, session.account_id, account.wallet, account.operator
    and account.blocked_reason is null as operator, account.blocked_reason, account.rate_per_minute,
      account.burst, account.account_rate_per_minute, account.account_burst,
         session.created_at, session.last_used_at, session.expires_at, session.address, session.user_agent
  from console_session session join account_limits account on account.id = session.account_id`;

/** Console sessions on PostgreSQL. Not cached: requests are rare, and an ended session must fail at once. */
export class PostgresSessions implements Sessions {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #cell: Cell;

  constructor({ pool, clock, random, cell = NO_CELL }: SessionsOptions) {
    this.#pool = pool;
    this.#clock = clock;
    this.#random = random;
    this.#cell = cell;
  }

  async create(start: Parameters<Sessions["create"]>[0]): Promise<{ session: Session; token: string }> {
    const { number } = this.#cell;
    const secret = Buffer.from(this.#random.bytes(TOKEN_BYTES)).toString("base64url");
    const token = number === 0 ? secret : `${number}.${secret}`;
    const id = uuidFromId("ses", newId("ses", this.#clock, this.#random, number));
    const account = uuidFromId("acct", start.accountId);
    const now = this.#clock.now();
    await queryWithRetry(this.#pool, {
      name: "sessions-create",
      text: `with created as (
               insert into console_session (id, account_id, sha256, address, user_agent, created_at,
                 last_used_at, expires_at)
               values ($1, $2, $3, $4, $5, $6, $6, $7) on conflict (id) do nothing returning *)
             select event_add(account_id, 'session.created', jsonb_build_object(
               'account_id', 'acct_' || encode(uuid_send(account_id), 'hex'),
               'session_id', 'ses_' || encode(uuid_send(id), 'hex'),
               'address', address, 'user_agent', user_agent)) from created`,
      values: [
        id,
        account,
        hashOf(token),
        start.address,
        start.userAgent,
        new Date(now),
        new Date(now + SESSION_MS),
      ],
    });
    await queryWithRetry(this.#pool, {
      name: "sessions-trim",
      text: `delete from console_session where id in (
               select id from console_session where account_id = $1 order by id desc offset $2)`,
      values: [account, MAX_SESSIONS],
    });
    const rows = await queryWithRetry<SessionRow>(this.#pool, {
      name: "sessions-created",
      text: `${SELECT} where session.id = $1`,
      values: [id],
    });
    const [row] = rows;
    if (!row) throw new Error("the new session was not found");
    return { session: sessionOf(row), token };
  }

  async find(token: string): Promise<SignedIn | undefined> {
    const [, cell = "0"] = /^(\d{1,5})\./.exec(token) ?? [];
    if (this.#cell.isForeign("session", Number(cell))) return undefined;
    const now = this.#clock.now();
    const [row] = await queryWithRetry<SessionRow>(this.#pool, {
      name: "sessions-find",
      text: `${SELECT} where session.sha256 = $1 and session.expires_at > $2 and session.last_used_at > $3`,
      values: [hashOf(token), new Date(now), new Date(now - SESSION_IDLE_MS)],
    });
    if (!row) return undefined;
    if (now - row.last_used_at.getTime() >= USE_MS) await this.#use(row.id, now);
    return { session: sessionOf(row), caller: callerOf(row) };
  }

  async list(accountId: string): Promise<Session[]> {
    const now = this.#clock.now();
    const rows = await queryWithRetry<SessionRow>(this.#pool, {
      name: "sessions-list",
      text: `${SELECT} where session.account_id = $1 and session.expires_at > $2 and session.last_used_at > $3
             order by session.id desc`,
      values: [uuidFromId("acct", accountId), new Date(now), new Date(now - SESSION_IDLE_MS)],
    });
    return rows.map(sessionOf);
  }

  async end(accountId: string, sessionId: string): Promise<boolean> {
    const id = uuidOf("ses", sessionId);
    if (id === undefined) return false;
    const rows = await queryWithRetry(this.#pool, {
      name: "sessions-end",
      text: "delete from console_session where id = $1 and account_id = $2 returning id",
      values: [id, uuidFromId("acct", accountId)],
    });
    return rows.length > 0;
  }

  async endAll(accountId: string): Promise<number> {
    const rows = await queryWithRetry(this.#pool, {
      name: "sessions-end-all",
      text: "delete from console_session where account_id = $1 returning id",
      values: [uuidFromId("acct", accountId)],
    });
    return rows.length;
  }

  /** While the database accepts no writes, the session is read all the same. */
  async #use(id: string, now: number): Promise<void> {
    const query = {
      name: "sessions-use",
      text: "update console_session set last_used_at = $2 where id = $1 and last_used_at < $2",
      values: [id, new Date(now)],
    };
    await queryWithRetry(this.#pool, query, 0).catch((error: unknown) => {
      if (!(error instanceof DatabaseUnavailableError)) throw error;
    });
  }
}

function hashOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

function sessionOf(row: SessionRow): Session {
  return {
    sessionId: idFromUuid("ses", row.id),
    accountId: idFromUuid("acct", row.account_id),
    wallet: row.wallet,
    operator: row.operator,
    blockedReason: row.blocked_reason ?? undefined,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
    address: row.address,
    userAgent: row.user_agent,
  };
}

function callerOf(row: SessionRow): SignedIn["caller"] {
  return {
    keyId: idFromUuid("ses", row.id),
    accountId: idFromUuid("acct", row.account_id),
    scopes: new Set(SCOPES),
    ...rateLimitsOf(row),
    operator: row.operator,
    limits: undefined,
    budgeted: false,
    limitsVersion: 0,
    blockedReason: row.blocked_reason ?? undefined,
  };
}

interface ChallengeRow {
  input: SignInInput;
}

/** Sign-in challenges on PostgreSQL. Only this service writes the rows. */
export class PostgresSignInChallenges implements SignInChallenges {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async add(input: SignInInput): Promise<void> {
    await queryWithRetry(this.#pool, {
      name: "sign-in-challenges-add",
      text: `insert into sign_in_challenge (nonce, input, created_at, expires_at) values ($1, $2, $3, $4)
             on conflict (nonce) do nothing`,
      values: [input.nonce, JSON.stringify(input), input.issuedAt, input.expirationTime],
    });
  }

  async find(nonce: string): Promise<SignInInput | undefined> {
    const [row] = await queryWithRetry<ChallengeRow>(this.#pool, {
      name: "sign-in-challenges-find",
      text: "select input from sign_in_challenge where nonce = $1",
      values: [nonce],
    });
    return row?.input;
  }

  /** Not retried after a lost response: the first try may have deleted the row. */
  async take(nonce: string): Promise<SignInInput | undefined> {
    const { rows } = await this.#pool.query<ChallengeRow>({
      name: "sign-in-challenges-take",
      text: "delete from sign_in_challenge where nonce = $1 returning input",
      values: [nonce],
    });
    return rows[0]?.input;
  }
}

export class PostgresUsedNonces implements UsedNonces {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Not retried after a lost response: the first try may have inserted the row. */
  async add(nonce: string, expiresAt: Date): Promise<boolean> {
    const { rowCount } = await this.#pool.query({
      name: "used-nonces-add",
      text: "insert into used_nonce (nonce, expires_at) values ($1, $2) on conflict (nonce) do nothing",
      values: [nonce, expiresAt],
    });
    return rowCount === 1;
  }

  async has(nonce: string): Promise<boolean> {
    const { rowCount } = await this.#pool.query({
      name: "used-nonces-has",
      text: "select from used_nonce where nonce = $1",
      values: [nonce],
    });
    return rowCount === 1;
  }
}
