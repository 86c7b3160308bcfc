import { setTimeout as sleep } from "node:timers/promises";
import { type Job, jobFailure, type Pod } from "./objects.ts";
import { disruption, hasEnded, ranOutOfMemory, describeStatus } from "./pod-state.ts";

/** The Job's controller says why it ends a pod, sometimes only after it did: how often and how long apart that is looked for, ms. */
const MAX_POLLS = 10;
const POLL_MS = 200;

/** How an execution ended that did not tell it. */
export type ExitCause =
  | { readonly kind: "cancelled" | "timeout" | "memory_limit" }
  | { readonly kind: "lost"; readonly why: string };

/** What is known of an execution whose pod fell silent. */
export interface LastObservation {
  /** The pod as it was last seen. */
  readonly pod: Pod | undefined;
  readonly podGone: boolean;
  /** The gateway's own patience has ended. */
  readonly late: boolean;
}

/**
 * Finds out how an execution ended that did not tell it: from what the cluster says of its Job and its pod.
 * @param findJob the Job of this very execution; undefined once it was deleted, which is how an execution is cancelled
 */
export async function exitCauseOf(
  silence: () => LastObservation,
  findJob: () => Promise<Job | undefined>,
): Promise<ExitCause> {
  for (let look = 0; look < MAX_POLLS; look += 1) {
    if (look > 0) await sleep(POLL_MS);
    const job = await findJob();
    if (job === undefined || job.metadata.deletionTimestamp !== undefined) return { kind: "cancelled" };
    const death = causeFrom(job, silence());
    if (death !== undefined) return death;
  }
  return { kind: "lost", why: "the pod vanished, its Job did not" };
}

/** @returns undefined when it cannot be told yet */
function causeFrom(job: Job, { pod, podGone, late }: LastObservation): ExitCause | undefined {
  if (pod !== undefined && ranOutOfMemory(pod)) return { kind: "memory_limit" };
  if (jobFailure(job) === "DeadlineExceeded") return { kind: "timeout" };
  const disrupted = pod === undefined ? undefined : disruption(pod);
  if (disrupted !== undefined) return { kind: "lost", why: disrupted };
  if (pod === undefined) return podGone ? undefined : { kind: "lost", why: "its pod was never seen" };
  const leaving = podGone || pod.metadata.deletionTimestamp !== undefined;
  if (leaving) return undefined;
  if (hasEnded(pod)) return { kind: "lost", why: `the pod ended without a result: ${describeStatus(pod)}` };
  return late ? { kind: "timeout" } : undefined;
}
