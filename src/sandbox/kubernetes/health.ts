import type { SandboxCapabilities } from "../../domain/tools/sandbox.ts";
import { ApiFailure } from "./api-failure.ts";
import { runCanary } from "./canary.ts";
import type { ClusterApi } from "./cluster-api.ts";
import type { ExecutionParts } from "./execution.ts";
import { MANAGED_LABELS } from "./manifest.ts";
import {
  accessReviewSchema,
  namespaceSchema,
  networkPolicyListSchema,
  runtimeClassSchema,
  type NetworkPolicy,
} from "./objects.ts";

/** Permissions of the gateway: deploy/kubernetes/role.yaml. */
const PERMISSIONS = [
  ...["create", "get", "list", "delete"].map((verb) => ({ group: "batch", resource: "jobs", verb })),
  ...["get", "list", "watch"].map((verb) => ({ group: "", resource: "pods", verb })),
  { group: "", resource: "pods", subresource: "log", verb: "get" },
  { group: "", resource: "secrets", verb: "create" },
  { group: "networking.k8s.io", resource: "networkpolicies", verb: "list" },
] as const;

/** Pod Security Admission. */
const ENFORCE_LABEL = "pod-security.kubernetes.io/enforce";

type Parts = Pick<ExecutionParts, "api" | "watch" | "section" | "instance" | "log">;

/** Checks that the cluster runs and isolates code. @throws Error listing failed checks with remedies */
export async function checkCluster(
  cluster: ClusterApi,
  parts: Parts,
  signal: AbortSignal,
): Promise<SandboxCapabilities> {
  const check = new ClusterCheck(cluster, parts, signal);
  await check.requireReachable();
  const problems = await check.problems();
  // Run the canary only if the static checks pass.
  if (problems.length === 0) return runCanary(cluster.server, parts, signal);
  throw new Error(
    `the cluster failed its isolation checks:\n${problems.map((problem) => `- ${problem}`).join("\n")}`,
  );
}

class ClusterCheck {
  readonly #cluster: ClusterApi;
  readonly #section: Parts["section"];
  readonly #signal: AbortSignal;

  constructor(cluster: ClusterApi, { section }: Parts, signal: AbortSignal) {
    this.#cluster = cluster;
    this.#section = section;
    this.#signal = signal;
  }

  async requireReachable(): Promise<void> {
    try {
      await this.#get("/version");
    } catch (error) {
      const { host } = this.#cluster.server;
      throw new Error(
        `the cluster's API server at ${host} cannot be asked; see sandbox.kubernetes.kubeconfig`,
        {
          cause: error,
        },
      );
    }
  }

  async problems(): Promise<string[]> {
    const found = await Promise.all([
      this.#namespace(),
      this.#permissions(),
      this.#runtimeClass(),
      this.#network(),
    ]);
    return found.flat();
  }

  async #namespace(): Promise<string[]> {
    const { namespace } = this.#section;
    return this.#problemsOf(`the namespace ${namespace}`, "deploy/kubernetes/namespace.yaml", async () => {
      const { metadata } = namespaceSchema.parse(await this.#get(`/api/v1/namespaces/${namespace}`));
      if (metadata.labels[ENFORCE_LABEL] === "restricted") return [];
      return [
        `the namespace ${namespace} accepts pods of any kind: kubectl label namespace ${namespace} ` +
          `${ENFORCE_LABEL}=restricted`,
      ];
    });
  }

  async #permissions(): Promise<string[]> {
    const missing = await Promise.all(PERMISSIONS.map((permission) => this.#refused(permission)));
    return missing.flat();
  }

  async #refused(permission: (typeof PERMISSIONS)[number]): Promise<string[]> {
    const { namespace } = this.#section;
    const what =
      "subresource" in permission ? `${permission.resource}/${permission.subresource}` : permission.resource;
    const words = `to ${permission.verb} ${what} in ${namespace}`;
    return this.#problemsOf(`the permission ${words}`, "deploy/kubernetes/role.yaml", async () => {
      const review = {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectAccessReview",
        spec: { resourceAttributes: { namespace, ...permission } },
      };
      const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
      const answer = await this.#cluster.json({ method: "POST", path, body: review, signal: this.#signal });
      if (accessReviewSchema.parse(answer).status.allowed) return [];
      return [`the gateway is not allowed ${words}: apply deploy/kubernetes/role.yaml`];
    });
  }

  async #runtimeClass(): Promise<string[]> {
    const { runtime_class } = this.#section;
    if (runtime_class === null) return [];
    const advice =
      "install gVisor on the nodes and apply deploy/kubernetes/runtime-class.yaml, or name another in " +
      "sandbox.kubernetes.runtime_class";
    return this.#problemsOf(`the RuntimeClass ${runtime_class}`, advice, async () => {
      runtimeClassSchema.parse(await this.#get(`/apis/node.k8s.io/v1/runtimeclasses/${runtime_class}`));
      return [];
    });
  }

  async #network(): Promise<string[]> {
    const path = `/apis/networking.k8s.io/v1/namespaces/${this.#section.namespace}/networkpolicies`;
    return this.#problemsOf("the network policies", "deploy/kubernetes/role.yaml", async () => {
      const { items } = networkPolicyListSchema.parse(await this.#get(path));
      return networkGaps(items, MANAGED_LABELS);
    });
  }

  #get(path: string): Promise<unknown> {
    return this.#cluster.json({ method: "GET", path, signal: this.#signal });
  }

  /** Converts a rejected request to a problem with a remedy; rethrows server errors. */
  async #problemsOf(what: string, advice: string, ask: () => Promise<string[]>): Promise<string[]> {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.transient) throw error;
      if (error.status === 404) return [`${what} does not exist: ${applied(advice)}`];
      return [`${what} cannot be read (${error.message}): ${applied(advice)}`];
    }
  }
}

function applied(advice: string): string {
  return advice.startsWith("deploy/") ? `apply ${advice}` : advice;
}

const ADVICE = "apply deploy/kubernetes/network-policy.yaml";

/** Returns what policies allow pods with these labels: they are additive (NetworkPolicy v1). */
function networkGaps(policies: readonly NetworkPolicy[], labels: Readonly<Record<string, string>>): string[] {
  const selecting = policies.filter((policy) => maySelect(policy, labels));
  const gaps: string[] = [];
  for (const direction of ["Egress", "Ingress"] as const) {
    if (
      !selecting.some(
        (policy) => surelySelects(policy, labels) && policy.spec.policyTypes.includes(direction),
      )
    ) {
      gaps.push(`no network policy denies the sandbox's pods ${direction.toLowerCase()}: ${ADVICE}`);
    }
  }
  for (const { metadata, spec } of selecting) {
    if (spec.egress.length === 0 && spec.ingress.length === 0) continue;
    gaps.push(`the network policy ${metadata.name} allows the sandbox's pods some of the network: delete it`);
  }
  return gaps;
}

function surelySelects({ spec }: NetworkPolicy, labels: Readonly<Record<string, string>>): boolean {
  const { matchLabels, matchExpressions } = spec.podSelector;
  return (
    matchExpressions.length === 0 &&
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value)
  );
}

/** Conservative: pods have further labels, and expressions are not evaluated. */
function maySelect({ spec }: NetworkPolicy, labels: Readonly<Record<string, string>>): boolean {
  return Object.entries(spec.podSelector.matchLabels).every(
    ([key, value]) => labels[key] === undefined || labels[key] === value,
  );
}
