import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { SandboxEngine, SandboxOutcome } from "../../../src/domain/tools/sandbox.ts";
import { openCluster } from "../../../src/sandbox/kubernetes/cluster-access.ts";
import { startedLine, resultLines } from "../../../src/sandbox/kubernetes/frames.ts";
import { nameOf } from "../../../src/sandbox/kubernetes/manifest.ts";
import { emptyOutcome } from "../../../src/sandbox/kubernetes/outcomes.ts";
import { job } from "../contract-code.ts";
import { Cluster } from "./cluster.ts";
import type { Play } from "./kubelet.ts";

const NEVER = new AbortController().signal;
const ANSWERED: SandboxOutcome = { ...emptyOutcome("succeeded", 3), exitCode: 0, result: "x".repeat(30_000) };

let cluster: Cluster;
let engine: SandboxEngine;
let pods: number;
beforeAll(async () => {
  cluster = await Cluster.start();
  engine = await cluster.engine({ start_timeout_seconds: 20 });
});
afterAll(() => cluster.close());
beforeEach(() => {
  cluster.said.length = 0;
  cluster.node.plays.length = 0;
  pods = 0;
});

const answers: Play = async (pod) => {
  pods += 1;
  const { nonce } = await pod.job();
  pod.running();
  pod.say(startedLine(nonce));
  for (const line of resultLines(nonce, 1, { outcome: ANSWERED })) pod.say(line);
  pod.end(0);
};

async function outcome(play: Play = answers, asked = job("")): Promise<SandboxOutcome> {
  cluster.node.plays.push(play);
  const { done } = await engine.start(asked, NEVER);
  return done;
}

describe("a failing API server", () => {
  it.each([
    ["it answers 500", { status: 500 }],
    ["it answers 429 and says when to come back", { status: 429, headers: { "retry-after": "0" } }],
    ["its response is lost after the request arrived", "drop" as const],
  ])("runs an execution exactly once when %s", async (_, fault) => {
    cluster.server.fail(/^POST .*\/jobs/, fault);
    cluster.server.fail(/^POST .*\/secrets/, fault);
    cluster.server.fail(/^GET .*\/log/, fault);
    cluster.server.fail(/^DELETE .*\/jobs/, fault);
    expect(await outcome()).toEqual(ANSWERED);
    expect(pods).toBe(1);
  });

  it("returns a Retry-After when the server asks for a long wait", async () => {
    cluster.server.fail(/^POST .*\/jobs/, { status: 429, headers: { "retry-after": "77" } });
    const refused = await engine.start(job(""), NEVER).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "UNAVAILABLE", retryAfterSeconds: 77 });
  });

  it("reports that no code ran when the server keeps failing or refuses", async () => {
    cluster.server.fail(/^POST .*\/jobs/, { status: 503 }, 4);
    await expect(engine.start(job(""), NEVER)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    const body = { kind: "Status", code: 403, reason: "Forbidden", message: "exceeded quota: executions" };
    cluster.server.fail(/^POST .*\/jobs/, { status: 403, body });
    await expect(engine.start(job(""), NEVER)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      cause: { message: expect.stringContaining("exceeded quota") },
    });
  });

  it("deletes the Job if its Secret cannot be created", async () => {
    cluster.server.fail(/^POST .*\/secrets/, { status: 403 });
    cluster.node.plays.push(answers);
    await expect(engine.start(job(""), NEVER)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect.poll(() => cluster.server.store.list("jobs")).toEqual([]);
  });

  it("reads a log again that ended before its pod", async () => {
    cluster.node.logEnds = 2;
    const ended = outcome(async (pod) => {
      const { nonce } = await pod.job();
      pod.running();
      await expect.poll(() => cluster.node.logEnds).toBe(0);
      pod.say(startedLine(nonce));
      for (const line of resultLines(nonce, 1, { outcome: ANSWERED })) pod.say(line);
      pod.end(0);
    });
    expect(await ended).toEqual(ANSWERED);
  });

  it("reads a log again after the connection breaks", async () => {
    cluster.node.logCuts = [10, 60, 100];
    expect(await outcome()).toEqual(ANSWERED);
  });
});

/** Answers after this promise. */
const slowly =
  (during: () => Promise<void>): Play =>
  async (pod) => {
    const { nonce } = await pod.job();
    await during();
    pod.running();
    pod.say(startedLine(nonce));
    for (const line of resultLines(nonce, 1, { outcome: ANSWERED })) pod.say(line);
    pod.end(0);
  };

describe("watch of the pods", () => {
  const lists = () =>
    cluster.server.requests.filter((line) => /^GET .*\/pods\?labelSelector/.test(line)).length;

  it.each([
    ["is notified in the watch", []],
    ["is notified before the watch", [{ status: 410 }]],
  ])("lists the pods again when its version expires and it %s", async (_, faults) => {
    const before = lists();
    const ended = outcome(
      slowly(async () => {
        cluster.server.store.compact();
        for (const fault of faults) cluster.server.fail(/watch=true/, fault);
        cluster.server.endWatches();
        await expect.poll(lists).toBeGreaterThan(before);
      }),
    );
    expect(await ended).toEqual(ANSWERED);
    expect(cluster.said).toEqual([]);
  });

  it("continues after a broken connection and while the list fails", async () => {
    const ended = outcome(
      slowly(async () => {
        cluster.server.fail(/^GET .*\/pods\?labelSelector/, { status: 500 }, 2);
        cluster.server.cutWatches();
      }),
    );
    expect(await ended).toEqual(ANSWERED);
    expect(cluster.said).toContainEqual(expect.stringContaining("was cut"));
  });

  it("reports a watch whose authentication fails", async () => {
    const access = await openCluster(cluster.section());
    const { config } = access;
    const authenticate = config.applySecurityAuthentication.bind(config);
    config.applySecurityAuthentication = (request) =>
      request.getUrl().includes("watch=true")
        ? Promise.reject(new Error("the token expired"))
        : authenticate(request);
    const informer = access.podInformer("toolgate-sandbox", "");
    const failed = new Promise((resolve) => informer.on("error", resolve));
    await informer.start();
    expect(await failed).toMatchObject({ message: "the token expired" });
    access.close();
  });

  it("reports a pod deleted while the watch was down", async () => {
    const asked = job("");
    const ended = outcome(async (pod) => {
      const { nonce } = await pod.job();
      pod.running();
      pod.say(startedLine(nonce));
      const log = `/pods/${pod.name}/log`;
      await expect.poll(() => cluster.server.requests.some((line) => line.includes(log))).toBe(true);
      cluster.server.fail(/watch=true/, { status: 500 });
      cluster.server.cutWatches();
      cluster.server.store.remove("jobs", nameOf(asked.runId));
      cluster.server.store.remove("pods", pod.name);
      pod.end(137);
    }, asked);
    expect((await ended).status).toBe("cancelled");
  });

  it("reports a pod deleted before it started", async () => {
    const asked = job("");
    const ended = outcome(async (pod) => {
      await pod.job();
      cluster.server.fail(/watch=true/, { status: 500 });
      cluster.server.cutWatches();
      cluster.server.store.remove("jobs", nameOf(asked.runId));
      cluster.server.store.remove("pods", pod.name);
    }, asked);
    await expect(ended).rejects.toMatchObject({ code: "CANCELLED" });
  });

  it("does without events for a Job another instance deletes before its pod exists", async () => {
    const asked = job("");
    const reluctant = await cluster.engine({ runtime_class: "unknown" });
    const started = reluctant.start(asked, NEVER);
    started.catch(() => {});
    await expect.poll(() => cluster.server.store.get("secrets", nameOf(asked.runId))).toBeDefined();
    expect(await engine.cancel(asked.runId)).toBe(true);
    await expect(started).rejects.toMatchObject({ code: "CANCELLED" });
  });
});
