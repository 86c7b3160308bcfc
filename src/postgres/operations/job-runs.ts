import type { Pool } from "pg";
import type { EndedJob, JobOverview, JobRuns } from "../../app/jobs/job.ts";
import { queryWithRetry } from "../database/retry.ts";

const RECORD = /* sql */ `
  insert into job_run as job (name, instance, started_at, ended_at, every_ms, failure, failures, succeeded_at)
  values ($1, $2, $3, $4, $5, $6::text, case when $6::text is null then 0 else 1 end,
    case when $6::text is null then $4::timestamptz end)
  on conflict (name) do update set instance = excluded.instance, started_at = excluded.started_at,
    ended_at = excluded.ended_at, every_ms = excluded.every_ms, failure = excluded.failure,
    failures = case when excluded.failure is null then 0 else job.failures + 1 end,
    succeeded_at = coalesce(excluded.succeeded_at, job.succeeded_at)`;

const JOBS = /* sql */ `
  select name, instance, started_at as "startedAt", ended_at as "endedAt", every_ms as "everyMs", failure,
    failures, succeeded_at as "succeededAt"
  from job_run order by name`;

const LEADER = "select owner, until from leadership where name = 'treasury' and until > now()";

interface JobRow {
  name: string;
  instance: string;
  startedAt: Date;
  endedAt: Date;
  everyMs: bigint;
  failure: string | null;
  failures: bigint;
  succeededAt: Date | null;
}

/** How long a run may wait for the database, ms: the next one is recorded too. */
const WAIT_MS = 500;

export class PostgresJobRuns implements JobRuns {
  readonly #pool: Pool;
  readonly #instance: string;

  constructor(pool: Pool, instanceId: string) {
    this.#pool = pool;
    this.#instance = instanceId;
  }

  async record({ name, startedAt, endedAt, everyMs, failure }: EndedJob): Promise<void> {
    const values = [name, this.#instance, startedAt, endedAt, everyMs, failure];
    await queryWithRetry(this.#pool, { name: "job-record", text: RECORD, values }, WAIT_MS);
  }

  async overview(): Promise<JobOverview> {
    const [jobs, [leader]] = await Promise.all([
      queryWithRetry<JobRow>(this.#pool, { name: "job-list", text: JOBS, values: [] }),
      queryWithRetry<{ owner: string; until: Date }>(this.#pool, {
        name: "job-leader",
        text: LEADER,
        values: [],
      }),
    ]);
    return {
      jobs: jobs.map(({ everyMs, failure, succeededAt, ...job }) => ({
        ...job,
        everyMs: Number(everyMs),
        failure: failure ?? undefined,
        succeededAt: succeededAt ?? undefined,
      })),
      leader: leader && { instance: leader.owner, until: leader.until },
      instance: this.#instance,
    };
  }
}
