import { describe, expect, it } from "vitest";
import { kubernetesSchema, podMemoryMib } from "../../../src/sandbox/kubernetes/config.ts";
import { jobManifest, nameOf, secretData, secretManifest } from "../../../src/sandbox/kubernetes/manifest.ts";
import { newId } from "../../../src/domain/core/ids.ts";
import { job } from "../contract-code.ts";
import { refusalOf, restrictedProblems } from "./admission.ts";
import { IMAGE } from "./cluster.ts";
import type { KubeObject } from "./object-store.ts";

const section = kubernetesSchema.parse({ image: IMAGE });
const parts = { section, instance: "one", attempt: "first" };
const manifest = (more = {}) =>
  jobManifest("run-1", 10_000, { ...parts, section: { ...section, ...more } }, "run");
const pod = (more = {}) => manifest(more).spec!.template.spec!;

describe("Job of an execution", () => {
  it("conforms to the API, and its pod to the restricted standard", () => {
    expect(refusalOf("jobs", manifest() as unknown as KubeObject)).toBeUndefined();
    expect(restrictedProblems(pod())).toEqual([]);
  });

  it("applies every protection", () => {
    expect(pod()).toMatchObject({
      runtimeClassName: "gvisor",
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      hostNetwork: false,
      hostPID: false,
      hostIPC: false,
      shareProcessNamespace: false,
      dnsPolicy: "None",
      restartPolicy: "Never",
      securityContext: { runAsNonRoot: true, runAsUser: 65_534, runAsGroup: 65_534 },
    });
    const [container, ...others] = pod().containers;
    expect(others).toEqual([]);
    expect(container?.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      privileged: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      runAsUser: 65_534,
      capabilities: { drop: ["ALL"] },
      seccompProfile: { type: "RuntimeDefault" },
    });
    expect(container?.image).toBe(IMAGE);
    expect(container?.env).toBeUndefined();
  });

  it("limits resources, time and attempts", () => {
    const memory = `${podMemoryMib(section)}Mi`;
    expect(pod().containers[0]?.resources).toEqual({
      limits: { cpu: "1000m", memory, "ephemeral-storage": "64Mi" },
      requests: { cpu: "1000m", memory, "ephemeral-storage": "64Mi" },
    });
    expect(podMemoryMib(section)).toBeGreaterThan(section.memory_mb.python);
    expect(pod().volumes?.find(({ name }) => name === "tmp")?.emptyDir).toEqual({
      medium: "Memory",
      sizeLimit: "32Mi",
    });
    expect(manifest().spec).toMatchObject({
      backoffLimit: 0,
      completions: 1,
      parallelism: 1,
      activeDeadlineSeconds: 85,
    });
    expect(manifest().spec?.ttlSecondsAfterFinished).toBeGreaterThan(0);
  });

  it("shares the node's kernel only if configured", () => {
    expect(pod({ runtime_class: null })).not.toHaveProperty("runtimeClassName");
    expect(pod({ runtime_class: "kata" }).runtimeClassName).toBe("kata");
    expect(kubernetesSchema.parse({ image: IMAGE }).runtime_class).toBe("gvisor");
  });

  it("has the name of its run as a valid Kubernetes name", () => {
    const runId = newId(
      "run",
      { now: () => Date.now() },
      { bytes: (size) => new Uint8Array(size).fill(255) },
    );
    expect(nameOf(runId)).toBe(runId.replace("_", "-"));
    expect(nameOf("run_ÄB:c")).toMatch(/^run-[0-9a-f]{40}$/);
    expect(nameOf("run_ÄB:c")).not.toBe(nameOf("run_ÄB:d"));
  });
});

describe("Secret of an execution", () => {
  const secret = (code: string, stdin: string) =>
    secretManifest("run-1", "uid-1", secretData({ ...job(code), stdin }, "0".repeat(32), section), parts);

  it("fits the longest code and input", () => {
    for (const character of ["\0", "x", "\u0001", "🚲", '"']) {
      const text = character.repeat(Math.floor(262_144 / Buffer.byteLength(character)));
      const made = secret(text, text);
      expect(refusalOf("secrets", made as unknown as KubeObject)).toBeUndefined();
      expect(Buffer.from(made.data?.["code"] ?? "", "base64").toString("utf8")).toBe(text);
    }
  });

  it("is immutable and owned by its Job", () => {
    const { immutable, metadata } = secret("", "");
    expect(immutable).toBe(true);
    expect(metadata?.ownerReferences).toMatchObject([{ kind: "Job", name: "run-1", uid: "uid-1" }]);
  });
});

describe("sandbox.kubernetes settings", () => {
  const problems = (value: object) =>
    kubernetesSchema
      .safeParse({ image: IMAGE, ...value })
      .error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);

  it.each([
    [{ image: "toolgate-sandbox:latest" }, "image: must name the image by its digest"],
    [{ namespace: "Sand_box" }, "namespace: must be 1 to 63 characters"],
    [{ denied_targets: ["nowhere"] }, 'denied_targets.0: must be "host:port"'],
    [{ memory_mb: { python: 64 } }, "memory_mb.python"],
    [{ runtime_classes: "x" }, "runtime_classes"],
  ])("reject %j by its path", (value, problem) => {
    expect(problems(value)?.join("\n")).toContain(problem);
  });

  it("accept addresses of every form", () => {
    expect(
      problems({ denied_targets: ["1.1.1.1:443", "[2606:4700::1111]:443", "example.com:80"] }),
    ).toBeUndefined();
  });
});
