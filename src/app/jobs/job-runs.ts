import type { JobName } from "./job.ts";

/** A run of a job that ended. */
export interface EndedJob {
  readonly name: JobName;
  readonly startedAt: Date;
  readonly endedAt: Date;
  /** Interval between runs, ms. */
  readonly everyMs: number;
  /** Undefined: it succeeded. */
  readonly failure: string | undefined;
}

/** The last run of a job on any instance. */
export interface JobState extends Omit<EndedJob, "name"> {
  readonly name: string;
  /** A UUID. */
  readonly instance: string;
  /** Failures in a row. */
  readonly failures: bigint;
  readonly succeededAt: Date | undefined;
}

export interface JobOverview {
  /** By name. */
  readonly jobs: readonly JobState[];
  /** Undefined: no instance leads. */
  readonly leader: { readonly instance: string; readonly until: Date } | undefined;
  /** The instance that answers. */
  readonly instance: string;
}

/** Last runs of the jobs of all instances. */
export interface JobRuns {
  record(run: EndedJob): Promise<void>;
  overview(): Promise<JobOverview>;
}
