import { z } from "zod";

/** A name that Kubernetes takes (RFC 1123 label). */
const label = z
  .string()
  .regex(
    /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/,
    "must be 1 to 63 characters of a-z, 0-9 and -, as Kubernetes names are",
  );

/** Where code must not get to from inside a pod; "host:port", an IP address in brackets if it has colons. */
const target = z
  .string()
  .regex(/^(\[[0-9a-fA-F:.]+\]|[^\s:[\]/@]+):\d{1,5}$/, 'must be "host:port", e.g. "1.1.1.1:443"');

/** Megabytes that code of a language may have. */
const memory = z.int().min(64).max(65_536);

/** `sandbox.kubernetes` of the configuration file: the cluster that runs code, one Job for each execution. */
export const kubernetesSchema = z.strictObject({
  /** The image that is built from deploy/kubernetes/sandbox-image, by its digest: a tag could come to mean other code. */
  image: z
    .string()
    .regex(
      /^[^\s@]+@sha256:[0-9a-f]{64}$/,
      'must name the image by its digest, e.g. "registry.example/toolgate-sandbox@sha256:…" (64 hex digits)',
    ),
  /** Where executions live; nothing else should. */
  namespace: label.prefault("toolgate-sandbox"),
  /** Path of the kubeconfig; left out: the service account of the pod that the gateway runs in. */
  kubeconfig: z.string().min(1).optional(),
  /** Its context; left out: its current one. */
  context: z.string().min(1).optional(),
  /** The RuntimeClass that keeps code from the nodes' kernel. Null: none, code then shares the kernel with everything on the node. */
  runtime_class: label.nullable().prefault("gvisor"),
  /** Memory that code of a language may have, MB; its pod gets {@link podMemoryMib}. */
  memory_mb: z
    .strictObject({ javascript: memory.prefault(256), python: memory.min(320).prefault(512) })
    .prefault({}),
  /** Processor time that code may take, s. */
  cpu_seconds: z.int().min(1).max(300).prefault(10),
  /** Processor of one pod, thousandths of a core. */
  cpu_millis: z.int().min(100).max(64_000).prefault(1_000),
  /** How long an execution may wait for a node, its image and its interpreter, s. */
  start_timeout_seconds: z.int().min(1).max(600).prefault(60),
  /** Executions that one instance of the gateway has in the cluster at once. */
  concurrency: z.int().min(1).max(1_000).prefault(16),
  /** Executions that may wait for one of them; one more is refused. */
  queue: z.int().min(0).max(10_000).prefault(16),
  /** Names of the namespace's Secrets that the image is pulled with. */
  image_pull_secrets: z.array(label).max(8).prefault([]),
  /** Addresses that the canary must fail to reach, besides the cluster's API server. */
  denied_targets: z.array(target).max(16).prefault(["1.1.1.1:443", "169.254.169.254:80"]),
});

/** `sandbox.kubernetes` as read. */
export type KubernetesSection = z.output<typeof kubernetesSchema>;

/** What a pod takes besides the code: the program that starts it, an idle interpreter's pages, and a small /tmp. */
const POD_OVERHEAD_MIB = 384;

/** Memory of one pod, MiB: the code's own limit is reached before the pod's, so that what it has said is not lost. */
export function podMemoryMib({ memory_mb }: KubernetesSection): number {
  return Math.max(memory_mb.javascript, memory_mb.python) + POD_OVERHEAD_MIB;
}
