import type { SandboxLanguage, SandboxOutcome } from "../../domain/tools/sandbox.ts";
import type { ProcessLimits } from "./limits.ts";

export interface ProbeContext {
  /** Port of the canary server on this machine. */
  readonly port: number;
  readonly pyodide: string;
  readonly memoryMb: number;
}

/** Code that tries to break one isolation rule. */
export interface Probe {
  readonly name: string;
  readonly language: SandboxLanguage;
  readonly code: (site: ProbeContext) => string;
  /** Lower limits make the probe faster. */
  readonly limits?: Partial<ProcessLimits>;
  readonly timeoutMs?: number;
  /** Returns what went wrong; undefined if the isolation holds. */
  readonly problem: (outcome: SandboxOutcome) => string | undefined;
}

/** Expects this status. */
const ends = (status: SandboxOutcome["status"]) => (outcome: SandboxOutcome) =>
  outcome.status === status
    ? undefined
    : `a guest that should have ended with ${status} ended with ${describeOutcome(outcome)}`;

/** Expects an empty list. */
const nothingFrom = (outcome: SandboxOutcome) =>
  Array.isArray(outcome.result) && outcome.result.length === 0
    ? undefined
    : `a guest ended with ${describeOutcome(outcome)} and got ${JSON.stringify(outcome.result)}`;

function describeOutcome({ status, error, stderr }: SandboxOutcome): string {
  const why = error === null ? stderr.trim().slice(0, 200) : `${error.name}: ${error.value.slice(0, 200)}`;
  return why === "" ? status : `${status} (${why})`;
}

/** Collects in `got` every attempt that was not refused for lack of permission. */
const JS_ATTEMPTS = ({ port }: ProbeContext) => `
import fs from "node:fs";
import { Module } from "node:module";
import net from "node:net";
import process from "node:process";
import { spawnSync } from "node:child_process";
const got = [];
const REFUSED = /NotCapable|PermissionDenied|ERR_ACCESS_DENIED|EPERM|EACCES/;
const attempt = async (name, act) => {
  try { await act(); got.push(name); } catch (error) {
    const text = error.name + " " + error.code + " " + error.message;
    if (!REFUSED.test(text) && !/Requires \\w+ access/.test(text)) got.push(name + " (" + text.slice(0, 120) + ")");
  }
};
await attempt("read a file", () => Deno.readTextFileSync("/etc/hosts"));
await attempt("read a file through Node", () => fs.readFileSync("/etc/hosts"));
await attempt("read a file through Node's module loader", () => Module._extensions[".mjs"](new Module("/x"), "/etc/hosts"));
await attempt("open a graphics adapter", async () => { if ((await navigator.gpu?.requestAdapter()) == null) throw new Error("EPERM"); });
await attempt("read the process table", () => Deno.readTextFileSync("/proc/self/environ"));
await attempt("list a folder", () => [...Deno.readDirSync("/")]);
await attempt("write a file", () => Deno.writeTextFileSync("/tmp/toolgate-self-test", "x"));
await attempt("make a temporary file", () => Deno.makeTempFileSync());
await attempt("read the environment", () => Deno.env.toObject());
await attempt("read the environment through Node", () => { if (process.env.PATH !== undefined) return; throw new Error("EPERM"); });
await attempt("connect", async () => (await Deno.connect({ hostname: "127.0.0.1", port: ${port} })).close());
await attempt("connect through Node", () => new Promise((resolve, reject) => net.connect(${port}, "127.0.0.1", resolve).on("error", reject)));
await attempt("fetch", () => fetch("http://127.0.0.1:${port}/"));
await attempt("listen", () => Deno.listen({ port: 0 }).close());
await attempt("start a program", () => new Deno.Command("/bin/true").outputSync());
await attempt("start a program through Node", () => { const { error } = spawnSync("/bin/true"); if (error) throw error; });
await attempt("open a library", () => Deno.dlopen("libc.so.6", {}));
await attempt("ask for the host's name", () => Deno.hostname());
await attempt("import from the network", () => import("http://127.0.0.1:${port}/x.js"));
await attempt("import a file", () => import("file:///etc/hosts"));
await attempt("kill a process", () => Deno.kill(1, "SIGCONT"));
export default got;
`;

const PY_ATTEMPTS = ({ port, pyodide }: ProbeContext) => `
import os, socket
got = []
def attempt(name, act):
    try:
        act()
        got.append(name)
    except BaseException:
        pass
import js
attempt("read a host's file", lambda: open("/etc/hosts").read())
attempt("read what the interpreter was read from", lambda: js.Deno.readTextFileSync("${pyodide}/package.json"))
attempt("read through JavaScript", lambda: js.Deno.readTextFileSync("/proc/self/environ"))
attempt("write through JavaScript", lambda: js.Deno.writeTextFileSync("/tmp/toolgate-self-test", "x"))
attempt("read the environment", lambda: js.Deno.env.toObject())
attempt("connect through JavaScript", lambda: js.Deno.listen(js.JSON.parse('{"port":0}')))
attempt("start a program", lambda: js.Deno.Command.new("/bin/true").outputSync())
try:
    await js.Deno.connect(js.JSON.parse('{"hostname":"127.0.0.1","port":${port}}'))
    got.append("connect")
except BaseException:
    pass
got
`;

const LEAVE = `try { localStorage.setItem("left", "x"); } catch {}
globalThis.left = 1;
try { const cache = await caches.open("left"); await cache.put("http://left/", new Response("x")); } catch {}
export default [];`;

const LOOK = `const found = [];
try { if (localStorage.getItem("left") !== null) found.push("localStorage"); } catch {}
if (globalThis.left !== undefined) found.push("globalThis");
try { if ((await (await caches.open("left")).match("http://left/")) !== undefined) found.push("caches"); } catch {}
export default found;`;

/** Memory allocated but not touched: only the kernel limit can refuse it. */
const ASK = ({ memoryMb }: ProbeContext) => `const kept = [];
try { for (let i = 0; i < ${Math.ceil(memoryMb / 16)} + 4; i += 1) kept.push(new ArrayBuffer(16 * 1048576)); } catch {}
export default kept.length * 16 > ${memoryMb} ? ["more memory than there may be"] : [];`;

/**
 * Memory in use for long, less than the kernel permits: a busy host looks late, and some runtimes exit without
 * an answer when an allocation fails.
 */
const HOLD = ({ memoryMb }: ProbeContext) => `const kept = [];
for (let i = 0; i < ${Math.max(4, Math.min(10, Math.floor(memoryMb / 16) - 2))}; i += 1) kept.push(new Uint8Array(16 * 1048576).fill(1));
await new Promise((go) => setTimeout(go, 20_000));`;

/** Isolation rules that can be probed from inside. */
export const PROBES: readonly Probe[] = [
  { name: "no permissions (JavaScript)", language: "javascript", code: JS_ATTEMPTS, problem: nothingFrom },
  { name: "no permissions (Python)", language: "python", code: PY_ATTEMPTS, problem: nothingFrom },
  {
    name: "memory (RLIMIT_DATA)",
    language: "javascript",
    code: ASK,
    // Some runtimes exit at once when an allocation fails.
    problem: (outcome) => (outcome.status === "memory_limit" ? undefined : nothingFrom(outcome)),
  },
  {
    name: "memory in use",
    language: "javascript",
    code: HOLD,
    limits: { memoryMb: { javascript: 16, python: 16 } },
    problem: ends("memory_limit"),
  },
  {
    name: "processor time",
    language: "javascript",
    code: () => "for (;;);",
    limits: { cpuMs: 100 },
    problem: ends("cpu_limit"),
  },
  {
    name: "wall-clock time",
    language: "javascript",
    code: () => "setInterval(() => {}, 1000);",
    timeoutMs: 100,
    problem: ends("timeout"),
  },
  {
    name: "output",
    language: "javascript",
    code: () => 'for (;;) console.log("x".repeat(1000));',
    limits: { outputBytes: 4096 },
    problem: ends("output_limit"),
  },
  { name: "nothing is left behind", language: "javascript", code: () => LEAVE, problem: nothingFrom },
  { name: "nothing is left behind", language: "javascript", code: () => LOOK, problem: nothingFrom },
];
