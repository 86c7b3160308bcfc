import { CONTAINER } from "./manifest.ts";
import type { Pod } from "./objects.ts";

/** Reasons of a waiting container that do not pass by themselves (kubelet, "Container states"). */
const FATAL_WAITS: ReadonlySet<string> = new Set([
  "ImagePullBackOff",
  "InvalidImageName",
  "ErrImageNeverPull",
  "ImageInspectError",
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError",
  "CrashLoopBackOff",
]);

type ContainerState = Pod["status"]["containerStatuses"][number]["state"];

/** Whether the container has begun to run; it may be over since. */
export function hasStarted(pod: Pod): boolean {
  const { running, terminated } = stateOf(pod);
  return running !== undefined || terminated !== undefined;
}

/** Whether nothing of the pod runs any more. */
export function hasEnded(pod: Pod): boolean {
  const { phase } = pod.status;
  return phase === "Succeeded" || phase === "Failed" || stateOf(pod).terminated !== undefined;
}

/** Why the pod will never begin; undefined as long as it may. That no node has room may pass. */
export function startFailure(pod: Pod): string | undefined {
  const { waiting } = stateOf(pod);
  if (waiting !== undefined && FATAL_WAITS.has(waiting.reason))
    return `${waiting.reason}: ${waiting.message}`;
  return (
    disruption(pod) ??
    (hasEnded(pod) && !hasStarted(pod) ? `the pod ended as ${describeStatus(pod)}` : undefined)
  );
}

/** What it waits for, for people. */
export function pendingReason(pod: Pod | undefined): string {
  if (pod === undefined) return "no pod was made for it: see the events of its Job, and the ResourceQuota";
  const unscheduled = pod.status.conditions.find(
    ({ type, status }) => type === "PodScheduled" && status === "False",
  );
  if (unscheduled !== undefined) return `${unscheduled.reason}: ${unscheduled.message}`;
  const { waiting } = stateOf(pod);
  return waiting === undefined
    ? `the pod is ${describeStatus(pod)}`
    : `${waiting.reason}: ${waiting.message}`;
}

/** Why the cluster ended the pod, or no longer knows of it; undefined when it did neither. */
export function disruption(pod: Pod): string | undefined {
  const target = pod.status.conditions.find(
    ({ type, status }) => type === "DisruptionTarget" && status === "True",
  );
  if (target !== undefined) return `${target.reason}: ${target.message}`;
  const { reason, phase } = pod.status;
  const lost =
    phase === "Unknown" || ["Evicted", "NodeLost", "NodeShutdown", "Preempting", "Shutdown"].includes(reason);
  return lost ? describeStatus(pod) : undefined;
}

/** Whether the kernel ended the container because it took more memory than it may. */
export function ranOutOfMemory(pod: Pod): boolean {
  return stateOf(pod).terminated?.reason === "OOMKilled";
}

/** What is seen of a pod, for people. */
export function describeStatus({ status }: Pod): string {
  return [status.phase, status.reason, status.message].filter((word) => word !== "").join(", ");
}

function stateOf(pod: Pod): ContainerState {
  return pod.status.containerStatuses.find(({ name }) => name === CONTAINER)?.state ?? {};
}
