import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { SandboxEngine, SandboxOutcome } from "../../../src/domain/tools/sandbox.ts";
import { startedLine, resultLines } from "../../../src/sandbox/kubernetes/frames.ts";
import { emptyOutcome } from "../../../src/sandbox/kubernetes/outcomes.ts";
import { job } from "../contract-code.ts";
import { Cluster } from "./cluster.ts";
import type { Play, PlayedPod } from "./kubelet.ts";

const NEVER = new AbortController().signal;
const ANSWERED: SandboxOutcome = {
  ...emptyOutcome("succeeded", 3),
  exitCode: 0,
  result: 42,
  stdout: "said\n",
};

let cluster: Cluster;
let engine: SandboxEngine;
beforeAll(async () => {
  cluster = await Cluster.start();
  engine = await cluster.engine({ start_timeout_seconds: 20 });
});
afterAll(() => cluster.close());
beforeEach(() => {
  cluster.said.length = 0;
});

/** Resolves when the engine has seen the code start. */
let started = Promise.withResolvers<void>();

async function begin(pod: PlayedPod): Promise<string> {
  const { nonce } = await pod.job();
  pod.running();
  pod.say(startedLine(nonce));
  await started.promise;
  return nonce;
}

const answer = (pod: PlayedPod, nonce: string, outcome = ANSWERED) => {
  for (const line of resultLines(nonce, 1, { outcome })) pod.say(line);
  pod.end(0);
};

const answers: Play = async (pod) => answer(pod, await begin(pod));

async function ends(play: Play, asked = job("")): Promise<SandboxOutcome> {
  started = Promise.withResolvers();
  cluster.node.plays.push(play);
  const { done } = await engine.start(asked, NEVER);
  started.resolve();
  return done;
}

describe("end of an execution in a cluster", () => {
  it("returns the pod's result and leaves nothing behind", async () => {
    expect(await ends(answers)).toEqual(ANSWERED);
    await expect
      .poll(() => ["jobs", "pods", "secrets"].flatMap((kind) => cluster.server.store.list(kind)))
      .toEqual([]);
  });

  it("reports a timeout when the Job's deadline ends it", async () => {
    const asked = job("");
    const outcome = await ends(async (pod) => {
      await begin(pod);
      cluster.node.deadline(asked.runId.replace("_", "-"));
    }, asked);
    expect(outcome).toMatchObject({ status: "timeout", exitCode: null, result: null });
  });

  it("reports the memory limit when the kernel kills its container", async () => {
    const outcome = await ends(async (pod) => {
      await begin(pod);
      pod.end(137, "OOMKilled");
    });
    expect(outcome).toMatchObject({ status: "memory_limit", exitCode: null });
  });

  it("reports the output limit when its log is too long", async () => {
    const outcome = await ends(async (pod) => {
      await begin(pod);
      for (let megabyte = 0; megabyte < 9; megabyte += 1) pod.say(`${"x".repeat(1 << 20)}\n`);
    });
    expect(outcome.status).toBe("output_limit");
    await expect.poll(() => cluster.server.store.list("jobs")).toEqual([]);
  });

  it("keeps the output when cancelled", async () => {
    const asked = job("");
    cluster.node.plays.push(async (pod) => {
      const nonce = await begin(pod);
      await expect.poll(() => cluster.server.store.list("jobs")).toEqual([]);
      answer(pod, nonce, { ...emptyOutcome("cancelled", 9), stdout: "so far" });
    });
    const { done } = await engine.start(asked, NEVER);
    started.resolve();
    expect(await engine.cancel(asked.runId)).toBe(true);
    expect(await done).toMatchObject({ status: "cancelled", result: null });
  });

  it("is cancelled when its Job is deleted before its result is taken", async () => {
    const asked = job("");
    const outcome = await ends(async (pod) => {
      const nonce = await begin(pod);
      cluster.server.store.remove("jobs", asked.runId.replace("_", "-"));
      answer(pod, nonce);
    }, asked);
    expect(outcome).toMatchObject({ status: "cancelled", result: null, exitCode: null, stdout: "said\n" });
  });
});

describe("a lost execution", () => {
  const evicted: Play = async (pod) => {
    await begin(pod);
    pod.status({ reason: "Evicted", message: "The node was low on resource: memory." });
    pod.end(137);
  };
  const drained: Play = async (pod) => {
    await begin(pod);
    const target = { type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI" };
    pod.status({ conditions: [target] });
    cluster.server.deletePod(pod.name);
  };
  const silent: Play = async (pod) => {
    await begin(pod);
    pod.end(0);
  };
  const broken: Play = async (pod) => {
    const nonce = await begin(pod);
    const [first = "", ...rest] = resultLines(nonce, 2, { outcome: ANSWERED });
    for (const line of [first, ...rest]) pod.say(line);
    pod.end(0);
  };
  const troubled: Play = async (pod) => {
    const nonce = await begin(pod);
    for (const line of resultLines(nonce, 1, { failure: { message: "no interpreter" } })) pod.say(line);
    pod.end(0);
  };

  it.each([
    ["its pod is evicted", evicted],
    ["its node is drained", drained],
    ["its pod ends without a word", silent],
    ["its log has lost a line", broken],
    ["its interpreter breaks", troubled],
  ])("is not charged when %s", async (_, play) => {
    await expect(ends(play)).rejects.toMatchObject({ code: "TOOL_FAILED" });
    expect(cluster.said).toContainEqual(expect.stringContaining("execution lost"));
    await expect.poll(() => cluster.server.store.list("jobs")).toEqual([]);
  });

  it.each([
    ["the image cannot be had", "ImagePullBackOff"],
    ["the container cannot be made", "CreateContainerError"],
  ])("has not started when %s", async (_, reason) => {
    const play: Play = (pod) =>
      pod.status({ containerStatuses: [{ name: "sandbox", state: { waiting: { reason } } }] });
    await expect(ends(play)).rejects.toMatchObject({ code: "UNAVAILABLE", retryAfterSeconds: 5 });
  });

  it("has not started when no node has room in time", async () => {
    const impatient = await cluster.engine({ start_timeout_seconds: 0.2 });
    const unschedulable = {
      type: "PodScheduled",
      status: "False",
      reason: "Unschedulable",
      message: "0/3 nodes",
    };
    cluster.node.plays.push((pod) => pod.status({ conditions: [unschedulable] }));
    const refused = await impatient.start(job(""), NEVER).catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: "UNAVAILABLE",
      cause: { message: expect.stringContaining("0/3 nodes") },
    });
    await expect.poll(() => cluster.server.store.list("jobs")).toEqual([]);
  });

  it("has not started when the namespace rejects its pod", async () => {
    const impatient = await cluster.engine({ start_timeout_seconds: 0.2, runtime_class: "unknown" });
    const refused = await impatient.start(job(""), NEVER).catch((error: unknown) => error);
    expect(refused).toMatchObject({ cause: { message: expect.stringContaining("no pod was made for it") } });
  });

  it("reports a timeout when the cluster stays silent", async () => {
    const asked = job("", "javascript", { timeoutMs: -14_500 });
    expect(await ends(async (pod) => void (await begin(pod)), asked)).toMatchObject({ status: "timeout" });
  });
});
