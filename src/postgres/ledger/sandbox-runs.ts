import type { SandboxRuns, SandboxRunStart, SandboxRunState } from "../../app/calls/sandbox-runs.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { uuidOf } from "../../domain/core/ids.ts";
import type { SandboxStatus } from "../../domain/tools/sandbox.ts";
import { Interval } from "../database/interval.ts";
import { queryWithRetry } from "../database/retry.ts";
import { idFromUuid, uuidFromId } from "../database/row-mapping.ts";
import type { Parts } from "../database/parts.ts";

export type SandboxRunsOptions = Pick<Parts, "pool" | "notifications" | "log">;

/**
 * Poll interval for cancelled executions, ms: a notification can be lost or arrive before the engine knows
 * the run.
 */
const POLL_MS = 1_000;

/**
 * The state of an execution. A finished one with a cancel request counts as cancelled, even if its instance
 * died.
 */
const FIND = `
  select found.run_id, case
    when found.ended_at is null and run.status = 'active' then 'running'
    when found.cancel_requested_at is not null then 'cancelled'
    when run.status in ('active', 'completed') then coalesce(found.status, 'failed')
    else 'failed' end as status
  from sandbox_run found join run on run.id = found.run_id where found.account_id = $1`;

/** Sandbox executions on PostgreSQL; the SQL functions `sandbox_*` hold the rules. */
export class PostgresSandboxRuns implements SandboxRuns {
  readonly #options: SandboxRunsOptions;
  readonly #running = new Set<string>();
  readonly #listeners = new Set<(runId: string) => void>();
  readonly #timer = new Interval(POLL_MS, () => this.#pollCancelled());

  constructor(options: SandboxRunsOptions) {
    this.#options = options;
    options.notifications.subscribe({ channel: "toolgate_sandbox", onMessage: (uuid) => this.#notify(uuid) });
  }

  start(): void {
    this.#timer.start();
  }

  stop(): Promise<void> {
    return this.#timer.stop();
  }

  async create({ runId, accountId, keyId, name, mostPerAccount }: SandboxRunStart): Promise<void> {
    const uuid = uuidFromId("run", runId);
    const [row] = await queryWithRetry<{ kind: string; running: bigint }>(this.#options.pool, {
      name: "sandbox-create",
      text: "select kind, running from sandbox_create($1, $2, $3, $4, $5)",
      values: [
        uuid,
        uuidFromId("acct", accountId),
        uuidOf("key", keyId) ?? null,
        name ?? null,
        mostPerAccount,
      ],
    });
    if (row?.kind === "named") {
      throw new ToolgateError(
        "REQUEST_IN_PROGRESS",
        `params.run_id: ${JSON.stringify(name)} is running; wait for its end, cancel it with ` +
          "sandbox_cancel, or choose another name; nothing was charged",
        { retryAfterSeconds: 1 },
      );
    }
    if (row?.kind === "busy") {
      throw new ToolgateError(
        "RATE_LIMITED",
        `${row.running} executions of this account are running, the maximum is ${mostPerAccount}; ` +
          "wait for one to end, or end one with sandbox_cancel; nothing was charged",
        { retryAfterSeconds: 1 },
      );
    }
    this.#running.add(uuid);
  }

  async end(runId: string, status: SandboxStatus): Promise<SandboxStatus> {
    const uuid = uuidFromId("run", runId);
    try {
      const [row] = await queryWithRetry<{ status: SandboxStatus | null }>(this.#options.pool, {
        name: "sandbox-end",
        text: "select sandbox_end($1, $2) as status",
        values: [uuid, status],
      });
      return row?.status ?? status;
    } finally {
      this.#running.delete(uuid);
    }
  }

  async find(accountId: string, nameOrRunId: string): Promise<SandboxRunState | undefined> {
    const uuid = uuidOf("run", nameOrRunId);
    const account = uuidFromId("acct", accountId);
    const query =
      uuid === undefined
        ? {
            name: "sandbox-find-name",
            text: `${FIND} and found.name = $2 order by found.created_at desc limit 1`,
            values: [account, nameOrRunId],
          }
        : { name: "sandbox-find-run", text: `${FIND} and found.run_id = $2`, values: [account, uuid] };
    const [row] = await queryWithRetry<{ run_id: string; status: SandboxRunState["status"] }>(
      this.#options.pool,
      query,
    );
    return row && { runId: idFromUuid("run", row.run_id), status: row.status };
  }

  async requestCancel(runId: string): Promise<boolean> {
    const [row] = await queryWithRetry<{ accepted: boolean }>(this.#options.pool, {
      name: "sandbox-cancel",
      text: "select sandbox_cancel($1) as accepted",
      values: [uuidFromId("run", runId)],
    });
    return row?.accepted === true;
  }

  onCancel(listener: (runId: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #notify(uuid: string): void {
    if (this.#running.has(uuid)) for (const listener of this.#listeners) listener(idFromUuid("run", uuid));
  }

  async #pollCancelled(): Promise<void> {
    if (this.#running.size === 0) return;
    try {
      const { rows } = await this.#options.pool.query<{ uuid: string }>({
        name: "sandbox-look",
        text: `select encode(uuid_send(run_id), 'hex') as uuid from sandbox_run
               where run_id = any ($1::uuid[]) and cancel_requested_at is not null and ended_at is null`,
        values: [[...this.#running]],
      });
      for (const { uuid } of rows) this.#notify(uuid);
    } catch (error) {
      this.#options.log.warn({ err: error }, "lookup of cancelled executions failed; retried");
    }
  }
}
