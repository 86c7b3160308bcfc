import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { parseAllDocuments } from "yaml";
import type { SandboxEngine } from "../../../src/domain/tools/sandbox.ts";
import { type KubernetesSection, kubernetesSchema } from "../../../src/sandbox/kubernetes/config.ts";
import { openKubernetesEngine } from "../../../src/sandbox/kubernetes/engine.ts";
import { FakeApiServer, type Rule, TOKEN } from "./api-server.ts";
import { Kubelet } from "./kubelet.ts";
import type { KubeObject } from "./object-store.ts";

const MANIFESTS = path.resolve(import.meta.dirname, "../../../deploy/kubernetes");

/** Manifest kinds that become cluster objects. */
const RESOURCES: Readonly<Record<string, string>> = {
  Namespace: "namespaces",
  NetworkPolicy: "networkpolicies",
  RuntimeClass: "runtimeclasses",
};

/** A fictitious image: the node runs its program from the sources. */
export const IMAGE = `registry.example/toolgate-sandbox@sha256:${"0".repeat(64)}`;

export async function manifests(): Promise<KubeObject[]> {
  const { resources } = (await documentsOf("kustomization.yaml"))[0] as unknown as { resources: string[] };
  const documents = await Promise.all(resources.map(documentsOf));
  return documents.flat();
}

async function documentsOf(file: string): Promise<KubeObject[]> {
  const text = await readFile(path.join(MANIFESTS, file), "utf8");
  return parseAllDocuments(text).map((document) => document.toJS() as KubeObject);
}

/** A cluster set up with the manifests of deploy/kubernetes, and its engine settings. */
export class Cluster {
  readonly server = new FakeApiServer();
  readonly node = new Kubelet(this.server);
  readonly said: string[] = [];
  readonly #engines: SandboxEngine[] = [];
  #folder = "";
  port = 0;

  static async start(): Promise<Cluster> {
    const cluster = new Cluster();
    cluster.port = await cluster.server.listen();
    cluster.#folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-cluster-"));
    const objects = await manifests();
    cluster.server.rules = objects.flatMap((object) =>
      object.kind.endsWith("Role") ? (object["rules"] as Rule[]) : [],
    );
    for (const object of objects) {
      const resource = RESOURCES[object.kind];
      if (resource !== undefined) cluster.server.store.create(resource, object);
    }
    const kubeconfig = {
      apiVersion: "v1",
      kind: "Config",
      "current-context": "here",
      contexts: [{ name: "here", context: { cluster: "here", user: "gateway" } }],
      clusters: [
        {
          name: "here",
          cluster: { server: `http://127.0.0.1:${cluster.port}`, "insecure-skip-tls-verify": true },
        },
      ],
      users: [{ name: "gateway", user: { token: TOKEN } }],
    };
    await writeFile(cluster.kubeconfig, JSON.stringify(kubeconfig));
    return cluster;
  }

  get kubeconfig(): string {
    return path.join(this.#folder, "config");
  }

  section(more: Partial<KubernetesSection> = {}): KubernetesSection {
    const read = kubernetesSchema.parse({ image: IMAGE, kubeconfig: this.kubeconfig, denied_targets: [] });
    return { ...read, start_timeout_seconds: 120, ...more };
  }

  /** Another gateway instance's engine, closed with the cluster. */
  async engine(more: Partial<KubernetesSection> = {}): Promise<SandboxEngine> {
    const log = (_: object, message: string) => void this.said.push(message);
    const engine = await openKubernetesEngine(this.section(more), { info: log, warn: log, error: log });
    this.#engines.push(engine);
    return engine;
  }

  async close(): Promise<void> {
    await Promise.all(this.#engines.map((engine) => engine.close()));
    await this.node.close();
    await this.server.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
