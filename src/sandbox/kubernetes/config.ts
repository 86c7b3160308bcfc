import { z } from "zod";

/** RFC 1123 label. */
const label = z
  .string()
  .regex(
    /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/,
    "must be 1 to 63 characters of a-z, 0-9 and -, as Kubernetes names are",
  );

/** "host:port"; IPv6 addresses in brackets. */
const target = z
  .string()
  .regex(/^(\[[0-9a-fA-F:.]+\]|[^\s:[\]/@]+):\d{1,5}$/, 'must be "host:port", e.g. "1.1.1.1:443"');

/** MB */
const memory = z.int().min(64).max(65_536);

/** The cluster that runs code, one Job per execution. */
export const kubernetesSchema = z.strictObject({
  /** Built from deploy/kubernetes/sandbox-image. Pinned by digest, since a tag can be moved to other code. */
  image: z
    .string()
    .regex(
      /^[^\s@]+@sha256:[0-9a-f]{64}$/,
      'must name the image by its digest, e.g. "registry.example/toolgate-sandbox@sha256:…" (64 hex digits)',
    ),
  /** Reserved for executions. */
  namespace: label.prefault("toolgate-sandbox"),
  /** Default: the service account of the gateway's pod. */
  kubeconfig: z.string().min(1).optional(),
  /** Default: the kubeconfig's current context. */
  context: z.string().min(1).optional(),
  /** RuntimeClass that separates code from the node's kernel. Null: code shares the kernel with the node. */
  runtime_class: label.nullable().prefault("gvisor"),
  /** Memory limit per language, MB. The pod gets {@link podMemoryMib}. */
  memory_mb: z
    .strictObject({ javascript: memory.prefault(256), python: memory.min(320).prefault(512) })
    .prefault({}),
  /** CPU time limit, s. */
  cpu_seconds: z.int().min(1).max(300).prefault(10),
  /** CPU limit of a pod, thousandths of a core. */
  cpu_millis: z.int().min(100).max(64_000).prefault(1_000),
  /** Time limit for scheduling, image pull and interpreter start, s. */
  start_timeout_seconds: z.int().min(1).max(600).prefault(60),
  /** Concurrent executions per gateway instance. */
  concurrency: z.int().min(1).max(1_000).prefault(16),
  /** Executions that may queue; further ones are rejected. */
  queue: z.int().min(0).max(10_000).prefault(16),
  image_pull_secrets: z.array(label).max(8).prefault([]),
  /** Further addresses that the canary must fail to reach. */
  denied_targets: z.array(target).max(16).prefault(["1.1.1.1:443", "169.254.169.254:80"]),
});

export type KubernetesSection = z.output<typeof kubernetesSchema>;

/** The supervisor, an idle interpreter and /tmp. */
const POD_OVERHEAD_MIB = 384;

/** Memory of a pod, MiB: code fails at its own lower limit before the pod is killed without output. */
export function podMemoryMib({ memory_mb }: KubernetesSection): number {
  return Math.max(memory_mb.javascript, memory_mb.python) + POD_OVERHEAD_MIB;
}
