import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SandboxEngine } from "../../../src/domain/tools/sandbox.ts";
import { startedLine } from "../../../src/sandbox/kubernetes/frames.ts";
import { nameOf } from "../../../src/sandbox/kubernetes/manifest.ts";
import { job } from "../contract-code.ts";
import { Cluster } from "./cluster.ts";
import type { Play } from "./kubelet.ts";

const NEVER = new AbortController().signal;

let cluster: Cluster;
let [one, other]: SandboxEngine[] = [];
beforeAll(async () => {
  cluster = await Cluster.start();
  [one, other] = [await cluster.engine(), await cluster.engine()];
});
afterAll(() => cluster.close());

const runsOn: Play = async (pod) => {
  const { nonce } = await pod.job();
  pod.running();
  pod.say(startedLine(nonce));
};

describe("several instances on one cluster", () => {
  it("cancel each other's executions, once", async () => {
    cluster.node.plays.push(runsOn);
    const asked = job("");
    const { done } = await one!.start(asked, NEVER);
    expect(await other!.cancel(asked.runId)).toBe(true);
    expect(await other!.cancel(asked.runId)).toBe(false);
    expect(await done).toMatchObject({ status: "cancelled", result: null });
  });

  it("never start an execution twice, and leave the first alone", async () => {
    cluster.node.plays.push(runsOn);
    const asked = job("");
    const { done } = await one!.start(asked, NEVER);
    await expect(other!.start(asked, NEVER)).rejects.toMatchObject({ code: "REQUEST_IN_PROGRESS" });
    await expect(one!.start(asked, NEVER)).rejects.toMatchObject({ code: "REQUEST_IN_PROGRESS" });
    expect(cluster.server.store.list("pods")).toHaveLength(1);
    expect(await one!.cancel(asked.runId)).toBe(true);
    expect((await done).status).toBe("cancelled");
  });

  it("do not cancel a finished execution whose Job still exists", async () => {
    const asked = job("");
    cluster.node.plays.push((pod) => pod.end(0));
    const left = {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: nameOf(asked.runId) },
      spec: { template: POD },
    };
    cluster.server.store.create("jobs", left);
    await expect
      .poll(() => cluster.server.store.list("pods")[0]?.["status"])
      .toMatchObject({ phase: "Succeeded" });
    expect(await one!.cancel(asked.runId)).toBe(false);
  });

  it("reap the executions of a dead instance and nothing else", async () => {
    const labels = { "app.kubernetes.io/managed-by": "toolgate-sandbox" };
    for (const [name, marked] of [
      ["run-left", { labels }],
      ["somebody-elses", {}],
    ] as const) {
      cluster.node.plays.push(() => undefined);
      const metadata = { name, ...marked };
      cluster.server.store.create("jobs", {
        apiVersion: "batch/v1",
        kind: "Job",
        metadata,
        spec: { template: POD },
      });
    }
    cluster.node.plays.push(runsOn);
    const asked = job("");
    const { done } = await one!.start(asked, NEVER);
    expect(await other!.reap(new Date(Date.now() - 60_000))).toBe(0);
    expect(await one!.reap(new Date(Date.now() + 60_000))).toBe(1);
    const left = cluster.server.store.list("jobs").map(({ metadata }) => metadata.name);
    expect(left).toContain("somebody-elses");
    expect(left).toContain(nameOf(asked.runId));
    await one!.cancel(asked.runId);
    await done;
  });
});

/** An orphaned pod. */
const POD = {
  metadata: {},
  spec: {
    containers: [
      {
        name: "sandbox",
        image: "any",
        securityContext: {
          allowPrivilegeEscalation: false,
          runAsNonRoot: true,
          capabilities: { drop: ["ALL"] },
          seccompProfile: { type: "RuntimeDefault" },
        },
      },
    ],
  },
};
