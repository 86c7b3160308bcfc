import type { ConfigurationOptions, V1NetworkPolicy } from "@kubernetes/client-node";
import type { SandboxCapabilities } from "../../domain/tools/sandbox.ts";
import { ApiFailure } from "./api-failure.ts";
import { runCanary } from "./canary.ts";
import type { Cluster } from "./cluster.ts";
import type { ExecutionParts } from "./execution.ts";
import { MANAGED_LABELS } from "./manifest.ts";

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
  cluster: Cluster,
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
  readonly #cluster: Cluster;
  readonly #section: Parts["section"];
  readonly #signal: AbortSignal;

  constructor(cluster: Cluster, { section }: Parts, signal: AbortSignal) {
    this.#cluster = cluster;
    this.#section = section;
    this.#signal = signal;
  }

  async requireReachable(): Promise<void> {
    try {
      const version = this.#cluster.config.makeApiClient(this.#cluster.library.VersionApi);
      await this.#call((options) => version.getCode({}, options));
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
      const { core } = this.#cluster;
      const { metadata } = await this.#call((options) => core.readNamespace({ name: namespace }, options));
      if (metadata?.labels?.[ENFORCE_LABEL] === "restricted") return [];
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
      const reviews = this.#cluster.config.makeApiClient(this.#cluster.library.AuthorizationV1Api);
      const body = { spec: { resourceAttributes: { namespace, ...permission } } };
      const { status } = await this.#call((options) =>
        reviews.createSelfSubjectAccessReview({ body }, options),
      );
      if (status?.allowed === true) return [];
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
      const nodes = this.#cluster.config.makeApiClient(this.#cluster.library.NodeV1Api);
      await this.#call((options) => nodes.readRuntimeClass({ name: runtime_class }, options));
      return [];
    });
  }

  async #network(): Promise<string[]> {
    const { namespace } = this.#section;
    return this.#problemsOf("the network policies", "deploy/kubernetes/role.yaml", async () => {
      const policies = this.#cluster.config.makeApiClient(this.#cluster.library.NetworkingV1Api);
      const { items } = await this.#call((options) =>
        policies.listNamespacedNetworkPolicy({ namespace }, options),
      );
      return networkGaps(items, MANAGED_LABELS);
    });
  }

  #call<T>(ask: (options: ConfigurationOptions) => Promise<T>): Promise<T> {
    return this.#cluster.call(ask, this.#signal);
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
function networkGaps(
  policies: readonly V1NetworkPolicy[],
  labels: Readonly<Record<string, string>>,
): string[] {
  const selecting = policies.filter((policy) => maySelect(policy, labels));
  const gaps: string[] = [];
  for (const direction of ["Egress", "Ingress"] as const) {
    if (
      !selecting.some(
        (policy) =>
          surelySelects(policy, labels) && (policy.spec?.policyTypes ?? ["Ingress"]).includes(direction),
      )
    ) {
      gaps.push(`no network policy denies the sandbox's pods ${direction.toLowerCase()}: ${ADVICE}`);
    }
  }
  for (const { metadata, spec } of selecting) {
    if ([...(spec?.egress ?? []), ...(spec?.ingress ?? [])].length === 0) continue;
    gaps.push(
      `the network policy ${metadata?.name} allows the sandbox's pods some of the network: delete it`,
    );
  }
  return gaps;
}

function surelySelects({ spec }: V1NetworkPolicy, labels: Readonly<Record<string, string>>): boolean {
  const { matchLabels = {}, matchExpressions = [] } = spec?.podSelector ?? {};
  return (
    matchExpressions.length === 0 &&
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value)
  );
}

/** Conservative: pods have further labels, and expressions are not evaluated. */
function maySelect({ spec }: V1NetworkPolicy, labels: Readonly<Record<string, string>>): boolean {
  return Object.entries(spec?.podSelector?.matchLabels ?? {}).every(
    ([key, value]) => labels[key] === undefined || labels[key] === value,
  );
}
