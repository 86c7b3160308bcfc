import type { V1Job, V1Pod } from "@kubernetes/client-node";
import { setTimeout as sleep } from "node:timers/promises";
import { disruption, hasEnded, ranOutOfMemory, describeStatus } from "./pod-state.ts";

/** The Job controller may report the reason only after the pod has ended. */
const MAX_POLLS = 10;
const POLL_MS = 200;

export type ExitCause =
  | { readonly kind: "cancelled" | "timeout" | "memory_limit" }
  | { readonly kind: "lost"; readonly why: string };

/** Last known state of an execution without a result. */
export interface LastObservation {
  readonly pod: V1Pod | undefined;
  readonly podGone: boolean;
  /** The gateway's own time limit expired. */
  readonly late: boolean;
}

/** Determines why an execution ended without a result. @param findJob undefined once deleted: cancelled */
export async function exitCauseOf(
  silence: () => LastObservation,
  findJob: () => Promise<V1Job | undefined>,
): Promise<ExitCause> {
  for (let look = 0; look < MAX_POLLS; look += 1) {
    if (look > 0) await sleep(POLL_MS);
    const job = await findJob();
    if (job === undefined || job.metadata?.deletionTimestamp !== undefined) return { kind: "cancelled" };
    const death = causeFrom(job, silence());
    if (death !== undefined) return death;
  }
  return { kind: "lost", why: "the pod disappeared while its Job remained" };
}

/** Returns undefined while the cause is unknown. */
function causeFrom(job: V1Job, { pod, podGone, late }: LastObservation): ExitCause | undefined {
  if (pod !== undefined && ranOutOfMemory(pod)) return { kind: "memory_limit" };
  const failed = job.status?.conditions?.find(
    ({ type, status }) => (type === "Failed" || type === "FailureTarget") && status === "True",
  );
  if (failed?.reason === "DeadlineExceeded") return { kind: "timeout" };
  const disrupted = pod === undefined ? undefined : disruption(pod);
  if (disrupted !== undefined) return { kind: "lost", why: disrupted };
  if (pod === undefined) return podGone ? undefined : { kind: "lost", why: "its pod was never seen" };
  const leaving = podGone || pod.metadata?.deletionTimestamp !== undefined;
  if (leaving) return undefined;
  if (hasEnded(pod)) return { kind: "lost", why: `the pod ended without a result: ${describeStatus(pod)}` };
  return late ? { kind: "timeout" } : undefined;
}
