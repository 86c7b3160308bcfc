import { createHash } from "node:crypto";
import type { V1Container, V1Job, V1ObjectMeta, V1PodSpec, V1Secret } from "@kubernetes/client-node";
import type { SandboxJob } from "../../domain/tools/sandbox.ts";
import { type KubernetesSection, podMemoryMib } from "./config.ts";
import type { JobFile } from "./pod/job-file.ts";

export const CONTAINER = "sandbox";

const JOB_DIRECTORY = "/run/toolgate/job";

/** Label of all objects of the gateway. It does not touch other objects in the namespace. */
export const MANAGED_LABELS = { "app.kubernetes.io/managed-by": "toolgate-sandbox" } as const;

export const INSTANCE_LABEL = "toolgate.dev/instance";

export const RUN_LABEL = "toolgate.dev/run";

/** Identifies the attempt, so that a retry recognises its own Job. */
export const ATTEMPT_ANNOTATION = "toolgate.dev/attempt";

/** Time to return the result, in addition to start and run time. */
const MARGIN_SECONDS = 15;

/** How long a finished Job remains if its instance died. */
const KEPT_SECONDS = 300;

/** Time for a terminating pod to send its output. */
const GRACE_SECONDS = 3;

/** Writable disk space of a pod for its log, MiB. */
const STORAGE_MIB = 64;

/** In-memory /tmp of the supervisor, MiB. Not visible to the code. */
const TMP_MIB = 32;

/** `nobody` in the image. */
const UID = 65_534;

export interface ManifestParts {
  readonly section: KubernetesSection;
  /** Unique per engine. */
  readonly instance: string;
  /** Unique per attempt. */
  readonly attempt: string;
}

/** Returns the name of an execution's objects, the same on all instances: it cannot start twice. */
export function nameOf(runId: string): string {
  if (/^run_[0-9a-f]{8,48}$/.test(runId)) return runId.replace("_", "-");
  return `run-${createHash("sha256").update(runId).digest("hex").slice(0, 40)}`;
}

/** Returns the Job; its pod waits for its Secret. @param command "run", or "probe" for the canary */
export function jobManifest(
  name: string,
  timeoutMs: number,
  parts: ManifestParts,
  command: "run" | "probe",
): V1Job {
  const { section } = parts;
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: metadataOf(name, parts),
    spec: {
      activeDeadlineSeconds: deadlineSeconds(timeoutMs, section),
      backoffLimit: 0,
      completions: 1,
      parallelism: 1,
      ttlSecondsAfterFinished: KEPT_SECONDS,
      template: { metadata: { labels: labelsOf(name, parts) }, spec: podSpec(name, section, command) },
    },
  };
}

/** From creation, s. */
function deadlineSeconds(timeoutMs: number, { start_timeout_seconds }: KubernetesSection): number {
  return start_timeout_seconds + Math.ceil(timeoutMs / 1_000) + MARGIN_SECONDS;
}

/** From handing over the code to its result, ms. */
export function resultWithinMs(timeoutMs: number): number {
  return timeoutMs + MARGIN_SECONDS * 1_000;
}

/** Returns the Secret that the Job owns. Code and input are separate: as JSON they could exceed 1 MiB. */
export function secretManifest(
  name: string,
  jobUid: string,
  data: Record<string, string>,
  parts: ManifestParts,
): V1Secret {
  const encoded: Record<string, string> = {};
  for (const [key, text] of Object.entries(data)) encoded[key] = Buffer.from(text, "utf8").toString("base64");
  const owner = {
    apiVersion: "batch/v1",
    kind: "Job",
    name,
    uid: jobUid,
    blockOwnerDeletion: false,
    controller: false,
  };
  return {
    apiVersion: "v1",
    kind: "Secret",
    type: "Opaque",
    immutable: true,
    metadata: metadataOf(name, parts, { ownerReferences: [owner] }),
    data: encoded,
  };
}

export function secretData(
  job: SandboxJob,
  nonce: string,
  section: KubernetesSection,
): Record<string, string> {
  const { runId, language, timeoutMs } = job;
  const limits = { memoryMb: section.memory_mb, cpuMs: section.cpu_seconds * 1_000 };
  const file: JobFile = { runId, language, timeoutMs, nonce, limits };
  return { "job.json": JSON.stringify(file), code: job.code, stdin: job.stdin };
}

function labelsOf(name: string, { instance }: ManifestParts): Record<string, string> {
  return { ...MANAGED_LABELS, [INSTANCE_LABEL]: instance, [RUN_LABEL]: name };
}

function metadataOf(
  name: string,
  parts: ManifestParts,
  more: Pick<V1ObjectMeta, "ownerReferences"> = {},
): V1ObjectMeta {
  const { namespace } = parts.section;
  const annotations = { [ATTEMPT_ANNOTATION]: parts.attempt };
  return { name, namespace, labels: labelsOf(name, parts), annotations, ...more };
}

/** Pod Security Standards, "restricted"; also no token, no service links, no DNS and no writable disk. */
function podSpec(name: string, section: KubernetesSection, command: "run" | "probe"): V1PodSpec {
  return {
    ...(section.runtime_class === null ? {} : { runtimeClassName: section.runtime_class }),
    restartPolicy: "Never",
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    hostNetwork: false,
    hostPID: false,
    hostIPC: false,
    shareProcessNamespace: false,
    // No cluster DNS. The policy None requires a name server; nothing listens on this one.
    dnsPolicy: "None",
    dnsConfig: { nameservers: ["127.0.0.1"] },
    terminationGracePeriodSeconds: GRACE_SECONDS,
    imagePullSecrets: section.image_pull_secrets.map((name) => ({ name })),
    securityContext: {
      runAsNonRoot: true,
      runAsUser: UID,
      runAsGroup: UID,
      fsGroup: UID,
      seccompProfile: { type: "RuntimeDefault" },
    },
    containers: [containerOf(section, command)],
    volumes: [
      { name: "job", secret: { secretName: name, defaultMode: 0o440 } },
      { name: "tmp", emptyDir: { medium: "Memory", sizeLimit: `${TMP_MIB}Mi` } },
    ],
  };
}

function containerOf(section: KubernetesSection, command: "run" | "probe"): V1Container {
  // Requests equal limits, so that the node has the resources the code was promised.
  const most = {
    cpu: `${section.cpu_millis}m`,
    memory: `${podMemoryMib(section)}Mi`,
    "ephemeral-storage": `${STORAGE_MIB}Mi`,
  };
  return {
    name: CONTAINER,
    image: section.image,
    imagePullPolicy: "IfNotPresent",
    args: [command, JOB_DIRECTORY],
    resources: { limits: most, requests: most },
    securityContext: {
      allowPrivilegeEscalation: false,
      privileged: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      runAsUser: UID,
      capabilities: { drop: ["ALL"] },
      seccompProfile: { type: "RuntimeDefault" },
    },
    volumeMounts: [
      { name: "job", mountPath: JOB_DIRECTORY, readOnly: true },
      { name: "tmp", mountPath: "/tmp" },
    ],
  };
}
