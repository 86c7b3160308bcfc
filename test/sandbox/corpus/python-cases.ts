import type { Row } from "./case.ts";

/** Attempts that are refused while the interpreter continues. */
const SHARES = { ends: ["succeeded"], shares: true } as const;
const FAILS = { ends: ["failed"] } as const;
const HANGS = { ends: ["timeout"], timeoutMs: 1_000, says: "started" } as const;
const BOMB = {
  ends: ["memory_limit", "failed", "cpu_limit", "timeout"],
  timeoutMs: 2_500,
  says: "started",
} as const;

export const PYTHON: readonly Row[] = [
  {
    name: "honest",
    always: true,
    attacks: "nothing: permitted operations work",
    ends: ["succeeded"],
    sharp: true,
    says: "2",
    result: { the: 2, at: "1970-01-01T00:00:00+00:00", json: [1.5] },
  },

  // Host files
  { name: "files-read", attacks: "files, by reading", ...SHARES, tries: 10 },
  { name: "files-write", attacks: "files, by writing and removing", ...SHARES, tries: 7 },
  { name: "files-mounted", attacks: "files, by mounting them", ...SHARES, tries: 7, bites: ["NODEFS"] },
  { name: "files-of-the-kernel", attacks: "/proc, /sys and /dev", ...SHARES, tries: 11 },
  {
    name: "environment",
    attacks: "variables and names of the host",
    ...SHARES,
    tries: 5,
    bites: ["js process.env", "Deno.env"],
  },

  // Network
  { name: "network-tcp", attacks: "TCP to this host and to the metadata of clouds", ...SHARES, tries: 3 },
  { name: "network-http", attacks: "HTTP by Python and by JavaScript", ...SHARES, tries: 8 },
  { name: "network-udp", attacks: "UDP", ends: ["failed", "succeeded"] },
  { name: "network-listening", attacks: "a listener", ends: ["failed", "succeeded"] },

  // The JavaScript realm of the interpreter
  {
    name: "host-through-deno",
    attacks: "the host, through the realm of JavaScript",
    ...SHARES,
    tries: 13,
    bites: [
      "Deno.readTextFileSync",
      "process.getBuiltinModule fs",
      "eval of JavaScript",
      "the loader of .mjs",
    ],
  },
  {
    name: "host-imports",
    attacks: "imports of JavaScript",
    ...SHARES,
    tries: 7,
    bites: ["import of file://{{file}}", "node:fs"],
  },
  {
    name: "host-permissions",
    attacks: "permissions, by asking for them",
    ...SHARES,
    tries: 10,
    bites: ["request of read", "a read after it"],
  },
  { name: "packages", attacks: "packages from elsewhere", ...SHARES, tries: 5 },
  { name: "worker-internals", attacks: "the worker's source, memory and stack", ...SHARES, tries: 5 },
  { name: "worker-path", attacks: "the path of the checkout", ...SHARES, tries: 1, namespaces: true },
  { name: "descriptors", attacks: "descriptors that were left open", ...SHARES, tries: 3 },

  // Processes
  { name: "processes", attacks: "processes", ...SHARES, tries: 9 },
  { name: "threads", attacks: "threads", ...SHARES, tries: 3 },
  { name: "processes-by-the-system", attacks: "processes, by the shell", ends: ["failed", "succeeded"] },
  { name: "signals", attacks: "its end, by handlers, and processes of others", ...HANGS },
  {
    name: "memory-read-raw",
    attacks: "native code through ctypes",
    ends: ["failed", "succeeded"],
    says: "started",
  },
  {
    name: "memory-written-raw",
    attacks: "the interpreter's own memory",
    ends: ["failed", "timeout", "memory_limit"],
    timeoutMs: 3_000,
    says: "started",
  },

  // Results and output
  {
    name: "forged-frames",
    always: true,
    attacks: "the host, by forged frames and halves of frames",
    ends: ["succeeded"],
    result: "honest",
  },
  {
    name: "pollution-of-builtins",
    attacks: "the worker's last words, by builtins",
    ends: ["failed", "succeeded"],
    says: "said before",
  },
  {
    name: "pollution-of-javascript",
    always: true,
    attacks: "the worker's last words, by prototypes of JavaScript",
    ends: ["failed", "succeeded", "timeout"],
    timeoutMs: 1_500,
    says: "said before",
  },
  {
    name: "pollution-of-pyodide",
    attacks: "the worker's last words, by the interpreter's own modules",
    ends: ["failed", "succeeded"],
    says: "said before",
  },
  {
    name: "result-that-hangs",
    attacks: "the worker, by a result that never ends",
    ends: ["timeout", "succeeded", "failed", "memory_limit"],
    timeoutMs: 1_500,
  },
  {
    name: "result-that-is-huge",
    attacks: "the host's memory, by a result",
    ends: ["output_limit", "memory_limit", "timeout"],
    timeoutMs: 4_000,
    result: null,
  },
  {
    name: "result-that-is-deep",
    attacks: "whatever walks through the result",
    ends: ["succeeded", "failed", "output_limit"],
  },
  {
    name: "result-that-holds-itself",
    attacks: "the worker, by values JSON cannot express",
    ends: ["succeeded"],
    result: null,
  },
  { name: "result-that-throws", attacks: "the worker, by an error that cannot be reported", ...FAILS },

  // Resource limits
  { name: "memory-of-a-list", attacks: "memory, by lists", ...BOMB },
  { name: "memory-of-bytes", always: true, attacks: "memory, by bytes", ...BOMB, sharp: true },
  {
    name: "memory-caught",
    attacks: "memory, refusals ignored",
    ends: ["timeout", "memory_limit", "cpu_limit", "failed"],
    timeoutMs: 1_500,
    says: "started",
  },
  { name: "memory-of-javascript", attacks: "memory of JavaScript", ...BOMB },
  {
    name: "decompression",
    attacks: "memory and time, by unpacking",
    ends: ["memory_limit", "timeout", "cpu_limit", "failed"],
    timeoutMs: 1_500,
    says: "started",
  },
  { name: "cpu-of-a-loop", always: true, attacks: "time", ...HANGS, sharp: true },
  { name: "cpu-in-c", attacks: "time, within one call", ...HANGS },
  {
    name: "cpu-of-a-number",
    attacks: "time, by a large number",
    ends: ["timeout", "failed"],
    timeoutMs: 1_000,
    says: "started",
  },
  { name: "cpu-of-a-pattern", attacks: "time, by a regular expression", ...HANGS },
  { name: "waits-asleep", attacks: "time, asleep", ...HANGS },
  { name: "waits-for-ever", attacks: "time, asleep within JavaScript", ...HANGS },
  {
    name: "waits-at-the-exit",
    attacks: "time, at the exit",
    ends: ["timeout", "succeeded"],
    timeoutMs: 1_000,
    says: "started",
  },
  { name: "exits-at-once", attacks: "the worker, by _exit()", ...FAILS, says: "started" },
  { name: "aborts", attacks: "the worker, by abort()", ...FAILS, says: "started" },
  {
    name: "interrupts-itself",
    attacks: "the worker, by KeyboardInterrupt",
    ...FAILS,
    says: "started",
    error: "KeyboardInterrupt",
  },
  {
    name: "output-without-end",
    attacks: "the host's memory, by output",
    ends: ["output_limit"],
    timeoutMs: 6_000,
    says: "line 1",
  },
  {
    name: "complaints-without-end",
    attacks: "the host's memory, by complaints",
    ends: ["output_limit"],
    timeoutMs: 6_000,
  },
  {
    name: "output-without-newline",
    attacks: "the host's memory, by one line",
    ends: ["output_limit", "memory_limit"],
    timeoutMs: 6_000,
  },
  {
    name: "recursion",
    attacks: "the stack",
    ends: ["failed", "timeout", "memory_limit"],
    timeoutMs: 1_500,
    says: "started",
  },
  {
    name: "input-beyond-its-end",
    attacks: "time, by reading what will never come",
    ends: ["succeeded"],
    tries: 5,
  },
];
