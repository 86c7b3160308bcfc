import { createHash } from "node:crypto";
import type { V1Container, V1Job, V1ObjectMeta, V1PodSpec, V1Secret } from "@kubernetes/client-node";
import type { SandboxJob } from "../../domain/tools/sandbox.ts";
import { type KubernetesSection, podMemoryMib } from "./config.ts";
import type { JobFile } from "./pod/job-file.ts";

/** The one container of a pod. */
export const CONTAINER = "sandbox";

/** Where the job is mounted. */
const JOB_DIRECTORY = "/run/toolgate/job";

/** Marks all that engines of any instance make; what others have in the namespace is left alone. */
export const MANAGED_LABELS = { "app.kubernetes.io/managed-by": "toolgate-sandbox" } as const;

/** Which engine object of which instance watches a pod. */
export const INSTANCE_LABEL = "toolgate.dev/instance";

/** The execution, on every object of it. */
export const RUN_LABEL = "toolgate.dev/run";

/** Tells a Job that is already there apart from one that this very attempt has made without hearing of it. */
export const ATTEMPT_ANNOTATION = "toolgate.dev/attempt";

/** Beyond the time to start and the time of the code: to hand in the result. */
const MARGIN_SECONDS = 15;

/** How long a finished Job stays when its instance died before it could clear it away. */
const KEPT_SECONDS = 300;

/** How long a pod that was told to end may take to say what was said so far. */
const GRACE_SECONDS = 3;

/** What a pod may write: the log with its result, MiB. Nothing else is written to the node's disk. */
const STORAGE_MIB = 64;

/** A /tmp for the program that starts the code, MiB, in memory; the code itself cannot see it. */
const TMP_MIB = 32;

/** `nobody`, as the image has it. */
const UID = 65_534;

/** What there is to an execution besides its code. */
export interface ManifestParts {
  readonly section: KubernetesSection;
  /** Which engine object asks; unique. */
  readonly instance: string;
  /** Which attempt asks; unique. */
  readonly attempt: string;
}

/**
 * The name of an execution's objects: the same on every instance, and taken once at most, so that no execution is begun twice. A run id of
 * hex digits stays readable; any other becomes a digest, since names know neither capitals nor underscores.
 */
export function nameOf(runId: string): string {
  if (/^run_[0-9a-f]{8,48}$/.test(runId)) return runId.replace("_", "-");
  return `run-${createHash("sha256").update(runId).digest("hex").slice(0, 40)}`;
}

/**
 * The Job of one execution. It waits for its Secret: what has no code yet cannot run it.
 * @param command what the image's program is asked for: "run" a job, or the "probe" of the canary
 */
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

/** From its creation on, everything included, s. */
function deadlineSeconds(timeoutMs: number, { start_timeout_seconds }: KubernetesSection): number {
  return start_timeout_seconds + Math.ceil(timeoutMs / 1_000) + MARGIN_SECONDS;
}

/** From the moment that the code was handed over, ms: then its own time is up and its result must have come. */
export function resultWithinMs(timeoutMs: number): number {
  return timeoutMs + MARGIN_SECONDS * 1_000;
}

/**
 * What an execution is given. A Secret holds 1 MiB: code and input, 256 KiB each, are members of their own, since as JSON they could grow
 * to six times that. It belongs to its Job and goes with it.
 */
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

/** The members of an execution's Secret. */
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

/** Pod Security Standards, "restricted", and beyond: no token, no services, no names, nothing to write to but a small /tmp. */
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
    // No cluster DNS. The policy None asks for at least one server: this one answers nobody.
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
  // As much as it may have, so that it never shares what it was promised: the scheduler then finds a node that has it.
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
