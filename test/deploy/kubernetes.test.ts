import { spawnSync } from "node:child_process";
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { V1Deployment, V1Job, V1PodSpec } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { readConfig } from "../../src/config/config.ts";
import { VERSION } from "../../src/version.ts";
import { settings } from "../../src/config/settings.ts";
import { restrictedProblems } from "../sandbox/kubernetes/admission.ts";
import { strangers } from "../sandbox/kubernetes/strict-schema.ts";

/** Kinds of other API versions than v1, and those that only an extension of the API knows. */
const MODELS: Readonly<Record<string, string | undefined>> = {
  HorizontalPodAutoscaler: "V2HorizontalPodAutoscaler",
  ServiceMonitor: undefined,
  ...{ Gateway: undefined, HTTPRoute: undefined, GRPCRoute: undefined },
};
const MISSING = spawnSync("kubectl", ["version", "--client"]).error && "kubectl is not installed";

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

const route = z.object({
  spec: z.object({
    parentRefs: z.array(z.object({ name: z.literal("toolgate"), sectionName: z.string() })),
    rules: z.array(z.object({ backendRefs: z.array(z.object({ name: z.string(), port: z.number() })) })),
  }),
});
const listened = z.object({ spec: z.object({ listeners: z.array(z.object({ name: z.string() })) }) });
const service = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({ ports: z.array(z.object({ port: z.number() })) }),
});

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "toolgate-kustomize-"));
  cpSync("deploy/kubernetes/gateway", folder, { recursive: true });
  const component = "components: [../../components/sandbox]\n";
  mkdirSync(path.join(folder, "overlays/with-sandbox"));
  writeFileSync(
    path.join(folder, "overlays/with-sandbox/kustomization.yaml"),
    `resources: [../../base]\n${component}`,
  );
  const base = path.join(folder, "overlays/base-with-sandbox");
  cpSync(path.join(folder, "base"), base, { recursive: true });
  appendFileSync(path.join(base, "kustomization.yaml"), component);
});
afterAll(() => rmSync(folder, { recursive: true }));

function render(overlay: string): Manifest[] {
  const where = overlay === "cells" ? "deploy/cells" : `${folder}/overlays/${overlay}`;
  const { status, stdout, stderr } = spawnSync("kubectl", ["kustomize", where], { encoding: "utf8" });
  expect(status, stderr).toBe(0);
  return parseAllDocuments(stdout).map((document) => document.toJS() as Manifest);
}

type Kinds = {
  ConfigMap: { data: Record<string, string> };
  Deployment: V1Deployment;
  Job: V1Job;
  RoleBinding: Manifest;
};

function only<Kind extends keyof Kinds>(manifests: readonly Manifest[], kind: Kind): Kinds[Kind] {
  const found = manifests.filter((manifest) => manifest.kind === kind);
  expect(found).toHaveLength(1);
  return found[0] as unknown as Kinds[Kind];
}

function podOf({ spec }: V1Deployment | V1Job): V1PodSpec {
  if (!spec?.template.spec) throw new Error("no pod");
  return spec.template.spec;
}

describe.each(["single", "ha", "with-sandbox", "base-with-sandbox", "cells"])("the overlay %s", (overlay) => {
  it("has only members that the API knows", ({ skip }) => {
    if (MISSING) return skip(MISSING);
    const unknown = render(overlay).flatMap((manifest) => {
      const { kind } = manifest;
      const model = kind in MODELS ? MODELS[kind] : `V1${kind}`;
      return model === undefined ? [] : strangers(manifest, model, kind);
    });
    expect(unknown).toEqual([]);
  });

  it("runs every pod under the restricted standard", ({ skip }) => {
    if (MISSING) return skip(MISSING);
    const manifests = render(overlay);
    const pods = manifests.filter(({ kind }) => kind === "Deployment" || kind === "Job");
    expect(pods.length).toBeGreaterThan(0);
    for (const pod of pods) expect(restrictedProblems(podOf(pod as V1Deployment | V1Job))).toEqual([]);
  });
});

it("sets only settings that exist, with valid values", ({ skip }) => {
  if (MISSING) return skip(MISSING);
  const manifests = render("ha");
  const { data } = only(manifests, "ConfigMap");
  const secrets = podOf(only(manifests, "Deployment")).containers[0]?.env ?? [];
  const names = [...Object.keys(data), ...secrets.map(({ name }) => name.replace(/_FILE$/, ""))];
  expect(names.filter((name) => !(name in settings))).toEqual([]);
  const { METRICS_PORT, DRAIN_MS, SHUTDOWN_GRACE_MS } = readConfig(data);
  const { containers, terminationGracePeriodSeconds = 0 } = podOf(only(manifests, "Deployment"));
  const { seconds = 0 } = containers[0]?.lifecycle?.preStop?.sleep ?? {};
  expect(seconds).toBeGreaterThan(0);
  expect((terminationGracePeriodSeconds - seconds) * 1_000).toBeGreaterThan(
    DRAIN_MS + SHUTDOWN_GRACE_MS + 5_000,
  );
  expect(containers[0]?.ports?.map(({ containerPort }) => containerPort)).toEqual([8080, 9090, METRICS_PORT]);
});

it.for(["with-sandbox", "base-with-sandbox"])(
  "keeps the role binding of %s in its place",
  (overlay, { skip }) => {
    if (MISSING) return skip(MISSING);
    const manifests = render(overlay);
    expect(only(manifests, "RoleBinding").metadata.namespace).toBe("toolgate-sandbox");
    const deployment = only(manifests, "Deployment");
    expect(deployment.metadata?.namespace).toBe("toolgate");
    expect(podOf(deployment).automountServiceAccountToken).toBe(true);
    expect(podOf(deployment).containers[0]?.image).toBe(`registry.example/toolgate:${VERSION}`);
  },
);

it("routes every listener of the cells' Gateway to a port of the router", ({ skip }) => {
  if (MISSING) return skip(MISSING);
  const manifests = render("cells");
  const routes = manifests.filter(({ kind }) => kind.endsWith("Route")).map((one) => route.parse(one));
  const listeners = routes.flatMap(({ spec }) => spec.parentRefs.map(({ sectionName }) => sectionName));
  const [gateway] = manifests.filter(({ kind }) => kind === "Gateway");
  expect(new Set(listeners)).toEqual(new Set(listened.parse(gateway).spec.listeners.map(({ name }) => name)));
  const served = service.parse(manifests.find(({ kind }) => kind === "Service"));
  for (const { backendRefs } of routes.flatMap(({ spec }) => spec.rules))
    for (const { name, port } of backendRefs) {
      expect(name).toBe(served.metadata.name);
      expect(served.spec.ports.map((one) => one.port)).toContain(port);
    }
});

it("gives the cells' router what its configuration reads", ({ skip }) => {
  if (MISSING) return skip(MISSING);
  const { containers } = podOf(only(render("cells"), "Deployment"));
  const [haproxy] = containers;
  const configuration = readFileSync("deploy/cells/haproxy.cfg", "utf8");
  // What adds TLS is a list of options: "${NAME[*]}".
  const names = configuration.matchAll(/\$\{(\w+)(?=[}-])|env\((\w+)\)/g);
  const read = new Set(Array.from(names, ([, a, b]) => a ?? b));
  const given = haproxy?.env?.map(({ name }) => name) ?? [];
  read.delete("CELLS_SOCKET");
  expect(new Set(given)).toEqual(read);
});
