import { z } from "zod";

/** The fields used of cluster objects (Kubernetes API: Job v1, Pod v1, NetworkPolicy v1). */

const time = z
  .string()
  .nullish()
  .transform((text) => text ?? undefined);

const metadata = z.object({
  name: z.string().prefault(""),
  uid: z.string().prefault(""),
  resourceVersion: z.string().prefault(""),
  // Null in bookmarks.
  creationTimestamp: time,
  deletionTimestamp: time,
  labels: z.record(z.string(), z.string()).prefault({}),
  annotations: z.record(z.string(), z.string()).prefault({}),
});

const condition = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.string().prefault(""),
  message: z.string().prefault(""),
});

const containerStatus = z.object({
  name: z.string(),
  state: z
    .object({
      waiting: z.object({ reason: z.string().prefault(""), message: z.string().prefault("") }).optional(),
      running: z.object({}).optional(),
      terminated: z.object({ exitCode: z.int(), reason: z.string().prefault("") }).optional(),
    })
    .prefault({}),
});

export const podSchema = z.object({
  metadata,
  status: z
    .object({
      phase: z.string().prefault("Pending"),
      reason: z.string().prefault(""),
      message: z.string().prefault(""),
      conditions: z.array(condition).prefault([]),
      containerStatuses: z.array(containerStatus).prefault([]),
    })
    .prefault({}),
});

export type Pod = z.output<typeof podSchema>;

export const jobSchema = z.object({
  metadata,
  status: z.object({ conditions: z.array(condition).prefault([]) }).prefault({}),
});

export type Job = z.output<typeof jobSchema>;

const listMetadata = z
  .object({ resourceVersion: z.string().prefault(""), continue: z.string().optional() })
  .prefault({});

export const podListSchema = z.object({ metadata: listMetadata, items: z.array(podSchema) });

export const jobListSchema = z.object({ metadata: listMetadata, items: z.array(jobSchema) });

export const namespaceSchema = z.object({ metadata });

export const runtimeClassSchema = z.object({ metadata, handler: z.string() });

export const accessReviewSchema = z.object({ status: z.object({ allowed: z.boolean() }) });

const selector = z.object({
  matchLabels: z.record(z.string(), z.string()).prefault({}),
  matchExpressions: z.array(z.unknown()).prefault([]),
});

export const networkPolicyListSchema = z.object({
  items: z.array(
    z.object({
      metadata,
      spec: z.object({
        podSelector: selector.prefault({}),
        policyTypes: z.array(z.string()).prefault(["Ingress"]),
        ingress: z.array(z.unknown()).prefault([]),
        egress: z.array(z.unknown()).prefault([]),
      }),
    }),
  ),
});

export type NetworkPolicy = z.output<typeof networkPolicyListSchema>["items"][number];

export const watchEventSchema = z.object({
  type: z.enum(["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]),
  object: z.unknown(),
});

/** Job v1, "Terminal Job conditions". */
export function hasJobEnded(job: Job): boolean {
  return job.status.conditions.some(
    ({ type, status }) => (type === "Complete" || type === "Failed") && status === "True",
  );
}

/** Returns why a Job failed or is about to; "" if it did not. */
export function jobFailure(job: Job): string {
  const failed = job.status.conditions.find(
    ({ type, status }) => (type === "Failed" || type === "FailureTarget") && status === "True",
  );
  return failed?.reason ?? "";
}
