import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openCluster } from "../../../src/sandbox/kubernetes/cluster-access.ts";
import { kubernetesSchema } from "../../../src/sandbox/kubernetes/config.ts";
import { IMAGE } from "./cluster.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-access-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function opened(cluster: object, more: object = {}, text?: string) {
  const kubeconfig = path.join(folder, "config");
  const config = {
    "current-context": "here",
    contexts: [{ name: "here", context: { cluster: "here", user: "me" } }],
    clusters: [{ name: "here", cluster }],
    users: [{ name: "me", user: { token: "t0ken" } }],
  };
  await writeFile(kubeconfig, text ?? JSON.stringify(config));
  return openCluster(kubernetesSchema.parse({ image: IMAGE, kubeconfig, ...more }));
}

describe("access to a cluster", () => {
  it("reads server and credentials from the kubeconfig", async () => {
    const { server, config } = await opened({ server: "https://10.0.0.1:6443" });
    expect(server.host).toBe("10.0.0.1:6443");
    expect(config.getCurrentUser()).toMatchObject({ token: "t0ken" });
  });

  it.each([
    ["http", { server: "http://10.0.0.1:8080", "insecure-skip-tls-verify": true }],
    ["unverified https", { server: "https://10.0.0.1:6443", "insecure-skip-tls-verify": true }],
  ])("sends no token to a server over %s", async (_, cluster) => {
    await expect(opened(cluster)).rejects.toThrow(/does not verify the API server/);
  });

  it("reports a missing file, an invalid kubeconfig and an unknown context", async () => {
    const missing = { kubeconfig: path.join(folder, "none") };
    await expect(opened({}, missing)).rejects.toThrow(/sandbox.kubernetes.kubeconfig: .*none cannot be read/);
    await expect(opened({}, {}, "{")).rejects.toThrow(/cannot be read as a kubeconfig/);
    await expect(opened({ server: "https://c" }, { context: "other" })).rejects.toThrow(
      /sandbox.kubernetes.context/,
    );
  });

  it("uses the pod's service account by default and nothing else", async () => {
    const access = openCluster(kubernetesSchema.parse({ image: IMAGE }));
    await expect(access).rejects.toThrow(
      /outside of a cluster, name a file in sandbox.kubernetes.kubeconfig/,
    );
  });
});
