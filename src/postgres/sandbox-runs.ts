import type { Pool } from "pg";
import type { SandboxRuns, SandboxRunStart, SandboxRunState } from "../app/sandbox-ports.ts";
import { ToolgateError } from "../domain/errors.ts";
import { uuidOf } from "../domain/ids.ts";
import type { SandboxStatus } from "../domain/sandbox.ts";
import type { Log } from "./log.ts";
import type { Notifications } from "./notifications.ts";
import { Interval } from "./interval.ts";
import { queryWithRetry } from "./retry.ts";
import { idFromUuid, uuidFromId } from "./row-mapping.ts";

/** What it needs. */
export interface SandboxRunsOptions {
  pool: Pool;
  /** Where cancels are heard of; not started yet. */
  notifications: Notifications;
  log: Log;
}

/** How often the own executions are looked up all the same, ms: a notification can be lost, and come before the engine knows its run. */
const LOOK_MS = 1_000;

/** What an execution is, for whoever asks for it. What was to be ended and is over was cancelled, also when its instance died. */
const FIND = `
  select found.run_id, case
    when found.ended_at is null and run.status = 'active' then 'running'
    when found.cancel_requested_at is not null then 'cancelled'
    when run.status in ('active', 'completed') then coalesce(found.status, 'failed')
    else 'failed' end as status
  from sandbox_run found join run on run.id = found.run_id where found.account_id = $1`;

/** The executions in the database; the rules are in the functions `sandbox_*` of the migrations. */
export class PostgresSandboxRuns implements SandboxRuns {
  readonly #options: SandboxRunsOptions;
  /** Those of this instance that are not over. */
  readonly #own = new Set<string>();
  readonly #hearers = new Set<(runId: string) => void>();
  readonly #pulse = new Interval(LOOK_MS, () => this.#look());

  constructor(options: SandboxRunsOptions) {
    this.#options = options;
    options.notifications.subscribe({ channel: "toolgate_sandbox", onMessage: (uuid) => this.#tell(uuid) });
  }

  start(): void {
    this.#pulse.start();
  }

  stop(): Promise<void> {
    return this.#pulse.stop();
  }

  async begin({ runId, accountId, keyId, name, mostPerAccount }: SandboxRunStart): Promise<void> {
    const uuid = uuidFromId("run", runId);
    const [row] = await queryWithRetry<{ kind: string; running: bigint }>(this.#options.pool, {
      name: "sandbox-begin",
      text: "select kind, running from sandbox_begin($1, $2, $3, $4, $5)",
      values: [uuid, uuidFromId("acct", accountId), uuidFromId("key", keyId), name ?? null, mostPerAccount],
    });
    if (row?.kind === "named") {
      throw new ToolgateError(
        "REQUEST_IN_PROGRESS",
        `params.run_id: ${JSON.stringify(name)} is running; wait for its end, cancel it with sandbox_cancel, or choose another name; nothing was charged`,
        { retryAfterSeconds: 1 },
      );
    }
    if (row?.kind === "busy") {
      throw new ToolgateError(
        "RATE_LIMITED",
        `${row.running} executions of this account are running, of ${mostPerAccount} that it may have at once; wait for one to end, or end one with sandbox_cancel; nothing was charged`,
        { retryAfterSeconds: 1 },
      );
    }
    this.#own.add(uuid);
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
      this.#own.delete(uuid);
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

  onCancel(hear: (runId: string) => void): () => void {
    this.#hearers.add(hear);
    return () => void this.#hearers.delete(hear);
  }

  #tell(uuid: string): void {
    if (this.#own.has(uuid)) for (const hear of this.#hearers) hear(idFromUuid("run", uuid));
  }

  async #look(): Promise<void> {
    if (this.#own.size === 0) return;
    try {
      const { rows } = await this.#options.pool.query<{ uuid: string }>({
        name: "sandbox-look",
        text: `select encode(uuid_send(run_id), 'hex') as uuid from sandbox_run
               where run_id = any ($1::uuid[]) and cancel_requested_at is not null and ended_at is null`,
        values: [[...this.#own]],
      });
      for (const { uuid } of rows) this.#tell(uuid);
    } catch (error) {
      this.#options.log.warn(
        { err: error },
        "executions that are to be ended could not be looked up; tried again",
      );
    }
  }
}
