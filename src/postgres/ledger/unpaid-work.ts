import { CHARGED_PER_EXTRA, UNPAID_PER_HOUR, type UnpaidWorkStore } from "../../app/calls/unpaid-work.ts";
import { Lru } from "../../domain/core/lru.ts";
import { queryWithRetry } from "../database/retry.ts";
import { uuidFromId } from "../database/row-mapping.ts";
import type { Parts } from "../database/parts.ts";

export type UnpaidWorkOptions = Pick<Parts, "pool" | "clock" | "notifications" | "log">;

/** Maximum cached refusals. */
const MOST_HELD = 100_000;

interface HeldRow {
  account: string;
  tool: string;
  held: bigint;
}

/** Unpaid work on PostgreSQL, counted per account and tool; refusals are cached in memory. */
export class PostgresUnpaidWork implements UnpaidWorkStore {
  readonly #options: UnpaidWorkOptions;
  readonly #heldUntil = new Lru<string, number>(MOST_HELD);
  #reading: Promise<void> | undefined;

  constructor(options: UnpaidWorkOptions) {
    this.#options = options;
    options.notifications.subscribe({
      channel: "toolgate_unpaid_work",
      onMessage: (payload) => this.#onMessage(payload),
      onGap: () => void (this.#reading ??= this.#readAll().finally(() => (this.#reading = undefined))),
    });
  }

  blockedMs(accountId: string, tool: string): number {
    const until = this.#heldUntil.get(`${uuidFromId("acct", accountId)} ${tool}`) ?? 0;
    return Math.max(0, until - this.#options.clock.now());
  }

  async add(accountId: string, tool: string, charged: number): Promise<void> {
    const { pool, log } = this.#options;
    const account = uuidFromId("acct", accountId);
    try {
      const [row] = await queryWithRetry<{ held: bigint }>(pool, {
        name: "unpaid-work-add",
        text: "select unpaid_work_add($1, $2, $3, $4, $5) as held",
        values: [account, tool, UNPAID_PER_HOUR, charged, CHARGED_PER_EXTRA],
      });
      this.#cacheRefusal(account, tool, Number(row?.held ?? 0n));
    } catch (error) {
      log.warn({ err: error, tool }, "unpaid work not counted");
    }
  }

  #onMessage(payload: string): void {
    const [, account, held, tool] = /^([\da-f]{32}) (\d{1,10}) (.+)$/.exec(payload) ?? [];
    if (account !== undefined && tool !== undefined) this.#cacheRefusal(account, tool, Number(held));
  }

  /** Reloads refusals after missed notifications. */
  async #readAll(): Promise<void> {
    try {
      const rows = await queryWithRetry<HeldRow>(this.#options.pool, {
        name: "unpaid-work-held",
        text: `select encode(uuid_send(account_id), 'hex') as account, tool, ceil(extract(epoch
            from free_at - now() - $1::interval) * 1000)::bigint as held
               from unpaid_work where free_at > now() + $1::interval order by free_at desc
                 limit ${MOST_HELD}`,
        values: [`${3_600 - 3_600 / UNPAID_PER_HOUR} seconds`],
      });
      for (const { account, tool, held } of rows) this.#cacheRefusal(account, tool, Number(held));
    } catch {
      // The notification connection is lost too: it reports another gap when it is back.
    }
  }

  /** Keeps the latest end: concurrent counts and notifications arrive in any order. */
  #cacheRefusal(account: string, tool: string, heldMs: number): void {
    const pair = `${account} ${tool}`;
    const until = this.#options.clock.now() + heldMs;
    if (heldMs > 0 && until > (this.#heldUntil.get(pair) ?? 0)) this.#heldUntil.set(pair, until);
  }
}
