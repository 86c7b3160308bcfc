import type { V1ContainerState, V1Pod } from "@kubernetes/client-node";
import { CONTAINER } from "./manifest.ts";

/** Wait reasons that do not resolve by themselves (kubelet, "Container states"). */
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

/** Whether the container has started; it may have ended since. */
export function hasStarted(pod: V1Pod): boolean {
  const { running, terminated } = stateOf(pod);
  return running !== undefined || terminated !== undefined;
}

/** Whether nothing of the pod runs any more. */
export function hasEnded(pod: V1Pod): boolean {
  const phase = pod.status?.phase;
  return phase === "Succeeded" || phase === "Failed" || stateOf(pod).terminated !== undefined;
}

/** Returns why the pod will never start; undefined while it may. Lack of room on the nodes is not final. */
export function startFailure(pod: V1Pod): string | undefined {
  const { waiting } = stateOf(pod);
  if (waiting !== undefined && FATAL_WAITS.has(waiting.reason ?? ""))
    return words(waiting.reason, waiting.message);
  return (
    disruption(pod) ??
    (hasEnded(pod) && !hasStarted(pod) ? `the pod ended as ${describeStatus(pod)}` : undefined)
  );
}

export function pendingReason(pod: V1Pod | undefined): string {
  if (pod === undefined) return "no pod was made for it: see the events of its Job, and the ResourceQuota";
  const unscheduled = pod.status?.conditions?.find(
    ({ type, status }) => type === "PodScheduled" && status === "False",
  );
  if (unscheduled !== undefined) return words(unscheduled.reason, unscheduled.message);
  const { waiting } = stateOf(pod);
  return waiting === undefined ? `the pod is ${describeStatus(pod)}` : words(waiting.reason, waiting.message);
}

/** Returns why the cluster ended or lost the pod; undefined if it did not. */
export function disruption(pod: V1Pod): string | undefined {
  const target = pod.status?.conditions?.find(
    ({ type, status }) => type === "DisruptionTarget" && status === "True",
  );
  if (target !== undefined) return words(target.reason, target.message);
  const { reason, phase } = pod.status ?? {};
  const lost =
    phase === "Unknown" ||
    ["Evicted", "NodeLost", "NodeShutdown", "Preempting", "Shutdown"].includes(reason ?? "");
  return lost ? describeStatus(pod) : undefined;
}

export function ranOutOfMemory(pod: V1Pod): boolean {
  return stateOf(pod).terminated?.reason === "OOMKilled";
}

export function describeStatus({ status }: V1Pod): string {
  return [status?.phase ?? "Pending", status?.reason, status?.message].filter(Boolean).join(", ");
}

function words(...parts: (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined).join(": ");
}

function stateOf(pod: V1Pod): V1ContainerState {
  return pod.status?.containerStatuses?.find(({ name }) => name === CONTAINER)?.state ?? {};
}
