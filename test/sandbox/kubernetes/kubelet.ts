import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import type { V1Pod, V1PodSpec } from "@kubernetes/client-node";
import type { SandboxEngine } from "../../../src/domain/tools/sandbox.ts";
import { readJob } from "../../../src/sandbox/kubernetes/pod/job-file.ts";
import { serveJob } from "../../../src/sandbox/kubernetes/pod/serve-job.ts";
import type { FakeApiServer } from "./api-server.ts";
import { restrictedProblems } from "./admission.ts";
import type { KubeObject } from "./object-store.ts";

const SOURCES = path.resolve(import.meta.dirname, "../../../src/sandbox/kubernetes/pod/main.ts");

/** Denies all connections at once, like an enforced network policy. */
const NO_NETWORK = `data:text/javascript,${encodeURIComponent(`
  import { syncBuiltinESMExports } from "node:module";
  import net from "node:net";
  net.connect = () => {
    const socket = new net.Socket();
    setTimeout(() => socket.destroy(new Error("connect EHOSTUNREACH")), 50);
    return socket;
  };
  syncBuiltinESMExports();
`)}`;

/** Capabilities of a simulated pod. */
export interface PlayedPod {
  readonly name: string;
  /** Reads its Secret; waits until it exists. */
  job(): Promise<{ nonce: string; runId: string }>;
  running(): void;
  say(text: string): void;
  end(exitCode: number, reason?: string): void;
  /** Changes its status as the cluster would. */
  status(change: Record<string, unknown>): void;
}

export type Play = (pod: PlayedPod) => void | Promise<void>;

interface Local {
  log: Buffer[];
  started: boolean;
  over: boolean;
  readonly listeners: Set<() => void>;
  child: ChildProcess | undefined;
  terminate: (() => void) | undefined;
  folder: string | undefined;
}

/**
 * A minimal Job controller and node. Pods run the image's program in a process, or the same code in this
 * process with warm interpreters, which is faster; tests may also simulate a pod.
 */
export class Kubelet {
  readonly #server: FakeApiServer;
  readonly #pods = new Map<string, Local>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #stop: () => void;
  /** Behaviour of the next pods; by default the image's program. */
  readonly plays: Play[] = [];
  program = SOURCES;
  warm: SandboxEngine | undefined;
  enforcesPolicies = true;
  /** Cuts this many logs after this many bytes. */
  logCuts: number[] = [];
  /** Ends this many logs early as if complete, as the server does with long ones. */
  logEnds = 0;
  #closed = false;

  constructor(server: FakeApiServer) {
    this.#server = server;
    server.logs = { log: (pod) => this.#follow(pod) };
    this.#stop = server.store.subscribe((change) => {
      const { resource, type, object } = change;
      if (resource === "jobs" && type === "ADDED") void this.#control(object);
      if (resource === "pods" && type === "ADDED") void this.#run(object.metadata.name);
      if (resource === "pods" && type === "MODIFIED" && object.metadata.deletionTimestamp !== undefined)
        this.#terminate(object);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#stop();
    for (const timer of this.#timers) clearTimeout(timer);
    for (const { child } of this.#pods.values()) child?.kill("SIGKILL");
    await Promise.all([...this.#pods.values()].map(({ folder }) => this.#clean(folder)));
  }

  async #control({ metadata, spec }: KubeObject): Promise<void> {
    const { template, activeDeadlineSeconds } = spec as {
      template: { metadata: object; spec: V1PodSpec };
      activeDeadlineSeconds?: number;
    };
    await sleep(5);
    if (this.#server.store.get("jobs", metadata.name)?.metadata.uid !== metadata.uid) return;
    if (this.#admissionProblems(template.spec).length > 0) return; // an event of the Job says so
    const owner = {
      apiVersion: "batch/v1",
      kind: "Job",
      name: metadata.name,
      uid: metadata.uid,
      controller: true,
    };
    const name = `${metadata.name}-${Math.random().toString(36).slice(2, 7)}`;
    const pod = { ...structuredClone(template), apiVersion: "v1", kind: "Pod" };
    const own = { ...template.metadata, name, namespace: metadata.namespace ?? "", ownerReferences: [owner] };
    this.#server.store.create("pods", { ...pod, metadata: own, status: { phase: "Pending" } });
    if (activeDeadlineSeconds !== undefined)
      this.#later(activeDeadlineSeconds * 1_000, () => this.deadline(metadata.name));
  }

  /** activeDeadlineSeconds: the Job fails and its pod is deleted. */
  deadline(job: string): void {
    const condition = {
      status: "True",
      reason: "DeadlineExceeded",
      message: "Job was active longer than specified deadline",
    };
    this.#server.store.update("jobs", job, (object) => {
      object["status"] = { conditions: [{ type: "FailureTarget", ...condition }] };
    });
    for (const { metadata } of this.#server.store.list("pods")) {
      if (metadata.ownerReferences?.some(({ name }) => name === job)) this.#server.deletePod(metadata.name);
    }
  }

  /** Admission of pods: Pod Security Standard and RuntimeClass. */
  #admissionProblems(spec: V1PodSpec): string[] {
    const unknown =
      spec.runtimeClassName !== undefined &&
      this.#server.store.get("runtimeclasses", spec.runtimeClassName) === undefined;
    return [...restrictedProblems(spec), ...(unknown ? ["runtimeClassName"] : [])];
  }

  async #run(name: string): Promise<void> {
    const local: Local = {
      log: [],
      started: false,
      over: false,
      listeners: new Set(),
      child: undefined,
      terminate: undefined,
      folder: undefined,
    };
    this.#pods.set(name, local);
    const play = this.plays.shift();
    if (play !== undefined) return play(this.#played(name, local));
    this.#status(name, {
      containerStatuses: [{ name: "sandbox", state: { waiting: { reason: "ContainerCreating" } } }],
    });
    const pod = this.#server.store.get("pods", name) as unknown as V1Pod | undefined;
    const container = pod?.spec?.containers[0];
    const data = await this.#secretOf(name, pod);
    if (container === undefined || data === undefined || this.#closed) return;
    local.folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-pod-"));
    // Maps the mount path to a local folder.
    const mounts = (container.volumeMounts ?? []).map(({ mountPath }) => mountPath);
    const seen = path.join(local.folder, "job");
    await mkdir(seen);
    for (const [key, value] of Object.entries(data))
      await writeFile(path.join(seen, key), Buffer.from(value, "base64"));
    const args = (container.args ?? []).map((argument) => (mounts.includes(argument) ? seen : argument));
    const denied = this.enforcesPolicies ? ["--import", NO_NETWORK] : [];
    if (this.#server.store.get("pods", name) === undefined) return;
    if (this.warm !== undefined && args[0] === "run") return this.#runWarm(name, local, this.warm, seen);
    local.child = spawn(process.execPath, [...denied, this.program, "/opt/toolgate/wheels", ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH: "/usr/bin:/bin" },
    });
    local.terminate = () => void local.child?.kill("SIGTERM");
    local.child.stdout?.on("data", (bytes: Buffer) => this.#write(local, bytes));
    local.child.stderr?.on("data", (bytes: Buffer) => this.#write(local, bytes));
    this.#begin(name, local);
    local.child.once("close", (code, signal) => {
      this.#end(name, local, code ?? 128 + (os.constants.signals[signal ?? "SIGKILL"] ?? 9), "");
    });
  }

  async #runWarm(name: string, local: Local, engine: SandboxEngine, folder: string): Promise<void> {
    this.#begin(name, local);
    const { job, nonce } = await readJob(folder);
    local.terminate = () => void engine.cancel(job.runId);
    if (this.#server.store.get("pods", name)?.metadata.deletionTimestamp !== undefined) local.terminate();
    await serveJob(engine, { job, nonce, command: "run" }, async (line) =>
      this.#write(local, Buffer.from(line)),
    );
    this.#end(name, local, 0, "");
  }

  /** Mounting waits for the Secret. */
  async #secretOf(name: string, pod: V1Pod | undefined): Promise<Record<string, string> | undefined> {
    const secretName =
      pod?.spec?.volumes?.find(({ secret }) => secret !== undefined)?.secret?.secretName ?? "";
    while (!this.#closed && this.#server.store.get("pods", name) !== undefined) {
      const secret = this.#server.store.get("secrets", secretName);
      if (secret !== undefined) return secret["data"] as Record<string, string>;
      await sleep(5);
    }
    return undefined;
  }

  #played(name: string, local: Local): PlayedPod {
    return {
      name,
      job: async () => {
        const data = await this.#secretOf(name, this.#server.store.get("pods", name) as unknown as V1Pod);
        if (data === undefined) return new Promise(() => {}); // it never begins
        return JSON.parse(Buffer.from(data["job.json"] ?? "", "base64").toString("utf8"));
      },
      running: () => this.#begin(name, local),
      say: (text) => this.#write(local, Buffer.from(text)),
      end: (exitCode, reason = "") => this.#end(name, local, exitCode, reason),
      status: (change) => this.#status(name, change),
    };
  }

  #begin(name: string, local: Local): void {
    local.started = true;
    this.#status(name, {
      phase: "Running",
      containerStatuses: [{ name: "sandbox", state: { running: {} } }],
    });
  }

  #write(local: Local, bytes: Buffer): void {
    local.log.push(bytes);
    for (const listener of local.listeners) listener();
  }

  #end(name: string, local: Local, exitCode: number, reason: string): void {
    local.over = true;
    for (const listener of local.listeners) listener();
    const terminated = {
      exitCode,
      reason: reason === "" ? (exitCode === 0 ? "Completed" : "Error") : reason,
    };
    const phase = exitCode === 0 ? "Succeeded" : "Failed";
    this.#status(name, { phase, containerStatuses: [{ name: "sandbox", state: { terminated } }] });
    const pod = this.#server.store.get("pods", name);
    if (pod?.metadata.deletionTimestamp !== undefined) this.#server.store.remove("pods", name);
    const job = pod?.metadata.ownerReferences?.[0]?.name ?? "";
    const condition =
      exitCode === 0
        ? { type: "Complete", reason: "CompletionsReached" }
        : { type: "Failed", reason: "BackoffLimitExceeded" };
    this.#server.store.update("jobs", job, (object) => {
      const status = object["status"] as { conditions?: object[] } | undefined;
      object["status"] ??= { conditions: [...(status?.conditions ?? []), { ...condition, status: "True" }] };
    });
    void this.#clean(local.folder);
  }

  /** Terminates a pod: SIGTERM, grace period, SIGKILL, removal. */
  #terminate({ metadata, spec }: KubeObject): void {
    const local = this.#pods.get(metadata.name);
    if (local === undefined) return;
    if (local.terminate === undefined || local.over) {
      local.over = true;
      for (const listener of local.listeners) listener();
      this.#server.store.remove("pods", metadata.name);
      return;
    }
    const { terminationGracePeriodSeconds = 30 } = spec as V1PodSpec;
    local.terminate();
    this.#later(terminationGracePeriodSeconds * 1_000, () => local.child?.kill("SIGKILL"));
  }

  #status(name: string, change: Record<string, unknown>): void {
    this.#server.store.update("pods", name, (pod) => {
      pod["status"] = { ...(pod["status"] as object), ...change };
    });
  }

  #follow(name: string): AsyncIterable<Buffer> | undefined {
    const local = this.#pods.get(name);
    return local === undefined || !local.started ? undefined : this.#chunks(local);
  }

  async *#chunks(local: Local): AsyncGenerator<Buffer> {
    const most = this.logCuts.shift() ?? Number.POSITIVE_INFINITY;
    if (this.logEnds > 0) {
      this.logEnds -= 1;
      return;
    }
    let sent = 0;
    for (let at = 0; ;) {
      const chunk = local.log[at];
      if (chunk !== undefined) {
        yield chunk.subarray(0, most - sent);
        sent += chunk.length;
        if (sent >= most) throw new Error("cut");
        at += 1;
      } else if (local.over) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          const listener = () => {
            local.listeners.delete(listener);
            resolve();
          };
          local.listeners.add(listener);
        });
      }
    }
  }

  #later(ms: number, then: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      then();
    }, ms);
    this.#timers.add(timer);
  }

  async #clean(folder: string | undefined): Promise<void> {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }
}
