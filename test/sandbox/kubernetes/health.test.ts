import { createServer } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SandboxEngine } from "../../../src/domain/tools/sandbox.ts";
import { startedLine, resultLines } from "../../../src/sandbox/kubernetes/frames.ts";
import { emptyOutcome } from "../../../src/sandbox/kubernetes/outcomes.ts";
import { reachableTargets } from "../../../src/sandbox/kubernetes/pod/serve-job.ts";
import { Cluster, manifests } from "./cluster.ts";
import type { Play } from "./kubelet.ts";
import { strangers } from "./strict-schema.ts";
import { closeServer, listen } from "../../support/servers.ts";

let cluster: Cluster;
let engine: SandboxEngine;
beforeEach(async () => {
  cluster = await Cluster.start();
  engine = await cluster.engine({ start_timeout_seconds: 20 });
});
afterEach(() => cluster.close());

const healthy = () => engine.health(AbortSignal.timeout(100_000));

/** A canary that reached these addresses. */
function canary(reached: string[]): Play {
  return async (pod) => {
    const { nonce } = await pod.job();
    pod.running();
    pod.say(startedLine(nonce));
    const result = {
      reached,
      languages: ["javascript", "python"],
      walls: ["rlimits", "deno"],
      packages: ["six 1.17.0"],
    };
    const outcome = { ...emptyOutcome("succeeded", 0), exitCode: 0, result };
    for (const line of resultLines(nonce, 1, { outcome })) pod.say(line);
    pod.end(0);
  };
}

describe("health check of a cluster", () => {
  it("returns the image's languages, packages and isolation layers", async () => {
    cluster.node.plays.push(canary([]));
    await healthy();
    expect(await engine.capabilities()).toEqual({
      languages: ["javascript", "python"],
      isolationLayers: ["pod", "runtime class gvisor", "network policy", "rlimits", "deno"],
      packages: ["six 1.17.0"],
    });
    await expect.poll(() => cluster.server.store.list("jobs")).toEqual([]);
  });

  it("needs exactly the permissions of the shipped Role", async () => {
    const { rules } = cluster.server;
    for (const rule of rules) {
      for (const verb of rule.verbs) {
        const verbs = rule.verbs.filter((other) => other !== verb);
        cluster.server.rules = rules.map((other) => (other === rule ? { ...rule, verbs } : other));
        await expect(healthy(), `without ${verb} of ${rule.resources.join()}`).rejects.toThrow(
          /apply deploy\/kubernetes\//,
        );
      }
    }
  });

  it("reports what the canary reached", async () => {
    cluster.node.plays.push(canary(["1.1.1.1:443"]));
    await expect(healthy()).rejects.toThrow(/a pod of the sandbox reached 1\.1\.1\.1:443.*network plugin/);
  });

  it("reports why the canary failed", async () => {
    cluster.node.plays.push((pod) =>
      pod.status({
        containerStatuses: [{ name: "sandbox", state: { waiting: { reason: "ImagePullBackOff" } } }],
      }),
    );
    await expect(healthy()).rejects.toThrow(/the sandbox canary failed: ImagePullBackOff/);
  });

  it("names every missing protection with its remedy, and creates no Job", async () => {
    const { store } = cluster.server;
    store.remove("networkpolicies", "deny-all");
    store.remove("runtimeclasses", "gvisor");
    store.update("namespaces", "toolgate-sandbox", ({ metadata }) => (metadata.labels = {}));
    const refused = await healthy().catch((error: unknown) => error);
    for (const part of [
      "kubectl label namespace toolgate-sandbox pod-security.kubernetes.io/enforce=restricted",
      "the RuntimeClass gvisor does not exist",
      "no network policy denies the sandbox's pods egress: apply deploy/kubernetes/network-policy.yaml",
      "no network policy denies the sandbox's pods ingress",
    ]) {
      expect(refused).toMatchObject({ message: expect.stringContaining(part) });
    }
    expect(cluster.server.requests.filter((line) => /^POST .*\/jobs/.test(line))).toEqual([]);
  });

  it("rejects network policies that others open or that select other pods", async () => {
    const { store } = cluster.server;
    const policy = (name: string, spec: object) =>
      store.create("networkpolicies", {
        apiVersion: "networking.k8s.io/v1",
        kind: "NetworkPolicy",
        metadata: { name },
        spec,
      });
    policy("open", { podSelector: {}, policyTypes: ["Egress"], egress: [{}] });
    await expect(healthy()).rejects.toThrow(/the network policy open allows/);
    store.remove("networkpolicies", "open");
    store.remove("networkpolicies", "deny-all");
    policy("others", { podSelector: { matchLabels: { app: "web" } }, policyTypes: ["Ingress", "Egress"] });
    policy("strangers", {
      podSelector: { matchLabels: { "app.kubernetes.io/managed-by": "helm" } },
      policyTypes: ["Ingress", "Egress"],
      egress: [{}],
    });
    const refused = await healthy().catch((error: unknown) => error);
    expect(refused).toMatchObject({ message: expect.stringContaining("denies the sandbox's pods egress") });
    expect(refused).toMatchObject({ message: expect.not.stringContaining("allows") });
  });

  it("distinguishes policies for one direction from those for both", async () => {
    const { store } = cluster.server;
    store.update("networkpolicies", "deny-all", (policy) => {
      policy["spec"] = { podSelector: {}, policyTypes: ["Ingress"] };
    });
    const refused = await healthy().catch((error: unknown) => error);
    expect(refused).toMatchObject({ message: expect.stringContaining("pods egress") });
    expect(refused).toMatchObject({ message: expect.not.stringContaining("pods ingress") });
  });

  it("reports an unreachable API server", async () => {
    cluster.server.fail(/^GET \/version/, { status: 401 });
    await expect(healthy()).rejects.toThrow(/API server at 127\.0\.0\.1:\d+ cannot be asked/);
  });

  it("accepts a missing RuntimeClass only if configured", async () => {
    cluster.server.store.remove("runtimeclasses", "gvisor");
    cluster.node.plays.push(canary([]));
    const naked = await cluster.engine({ runtime_class: null });
    await naked.health(AbortSignal.timeout(100_000));
    expect((await naked.capabilities()).isolationLayers).not.toContain("runtime class gvisor");
  });
});

describe("canary", () => {
  it("distinguishes reachable from unreachable addresses", async () => {
    const open = createServer();
    const port = await listen(open);
    expect(await reachableTargets([`127.0.0.1:${port}`, "127.0.0.1:1", "[::1]:1"])).toEqual([
      `127.0.0.1:${port}`,
    ]);
    await closeServer(open);
  });
});

describe("manifests for operators", () => {
  it("contain only members the API knows", async () => {
    for (const object of await manifests()) {
      expect(strangers(object, `V1${object.kind}`), object.kind).toEqual([]);
    }
  });
});
