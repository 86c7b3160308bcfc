import { row, type Row } from "./case.ts";

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
  row("honest", "nothing: permitted operations work", {
    always: true,
    ends: ["succeeded"],
    sharp: true,
    says: "2",
    result: { the: 2, at: "1970-01-01T00:00:00+00:00", json: [1.5] },
  }),

  // Host files
  row("files-read", "files, by reading", SHARES, { tries: 10 }),
  row("files-write", "files, by writing and removing", SHARES, { tries: 7 }),
  row("files-mounted", "files, by mounting them", SHARES, { tries: 7, bites: ["NODEFS"] }),
  row("files-of-the-kernel", "/proc, /sys and /dev", SHARES, { tries: 11 }),
  row("environment", "variables and names of the host", SHARES, {
    tries: 5,
    bites: ["js process.env", "Deno.env"],
  }),

  // Network
  row("network-tcp", "TCP to this host and to the metadata of clouds", SHARES, { tries: 3 }),
  row("network-http", "HTTP by Python and by JavaScript", SHARES, { tries: 8 }),
  row("network-udp", "UDP", { ends: ["failed", "succeeded"] }),
  row("network-listening", "a listener", { ends: ["failed", "succeeded"] }),

  // The JavaScript realm of the interpreter
  row("host-through-deno", "the host, through the realm of JavaScript", SHARES, {
    tries: 13,
    bites: [
      "Deno.readTextFileSync",
      "process.getBuiltinModule fs",
      "eval of JavaScript",
      "the loader of .mjs",
    ],
  }),
  row("host-imports", "imports of JavaScript", SHARES, {
    tries: 7,
    bites: ["import of file://{{file}}", "node:fs"],
  }),
  row("host-permissions", "permissions, by asking for them", SHARES, {
    tries: 10,
    bites: ["request of read", "a read after it"],
  }),
  row("packages", "packages from elsewhere", SHARES, { tries: 5 }),
  row("worker-internals", "the worker's source, memory and stack", SHARES, { tries: 5 }),
  row("worker-path", "the path of the checkout", SHARES, { tries: 1, namespaces: true }),
  row("descriptors", "descriptors that were left open", SHARES, { tries: 3 }),

  // Processes
  row("processes", "processes", SHARES, { tries: 9 }),
  row("threads", "threads", SHARES, { tries: 3 }),
  row("processes-by-the-system", "processes, by the shell", { ends: ["failed", "succeeded"] }),
  row("signals", "its end, by handlers, and processes of others", HANGS),
  row("memory-read-raw", "native code through ctypes", { ends: ["failed", "succeeded"], says: "started" }),
  row("memory-written-raw", "the interpreter's own memory", {
    ends: ["failed", "timeout", "memory_limit"],
    timeoutMs: 3_000,
    says: "started",
  }),

  // Results and output
  row("forged-frames", "the host, by forged frames and halves of frames", {
    always: true,
    ends: ["succeeded"],
    result: "honest",
  }),
  row("pollution-of-builtins", "the worker's last words, by builtins", {
    ends: ["failed", "succeeded"],
    says: "said before",
  }),
  row("pollution-of-javascript", "the worker's last words, by prototypes of JavaScript", {
    always: true,
    ends: ["failed", "succeeded", "timeout"],
    timeoutMs: 1_500,
    says: "said before",
  }),
  row("pollution-of-pyodide", "the worker's last words, by the interpreter's own modules", {
    ends: ["failed", "succeeded"],
    says: "said before",
  }),
  row("result-that-hangs", "the worker, by a result that never ends", {
    ends: ["timeout", "succeeded", "failed", "memory_limit"],
    timeoutMs: 1_500,
  }),
  row("result-that-is-huge", "the host's memory, by a result", {
    ends: ["output_limit", "memory_limit", "timeout"],
    timeoutMs: 4_000,
    result: null,
  }),
  row("result-that-is-deep", "whatever walks through the result", {
    ends: ["succeeded", "failed", "output_limit"],
  }),
  row("result-that-holds-itself", "the worker, by values JSON cannot express", {
    ends: ["succeeded"],
    result: null,
  }),
  row("result-that-throws", "the worker, by an error that cannot be reported", FAILS),

  // Resource limits
  row("memory-of-a-list", "memory, by lists", BOMB),
  row("memory-of-bytes", "memory, by bytes", BOMB, { always: true, sharp: true }),
  row("memory-caught", "memory, refusals ignored", {
    ends: ["timeout", "memory_limit", "cpu_limit", "failed"],
    timeoutMs: 1_500,
    says: "started",
  }),
  row("memory-of-javascript", "memory of JavaScript", BOMB),
  row("decompression", "memory and time, by unpacking", {
    ends: ["memory_limit", "timeout", "cpu_limit", "failed"],
    timeoutMs: 1_500,
    says: "started",
  }),
  row("cpu-of-a-loop", "time", HANGS, { always: true, sharp: true }),
  row("cpu-in-c", "time, within one call", HANGS),
  row("cpu-of-a-number", "time, by a large number", {
    ends: ["timeout", "failed"],
    timeoutMs: 1_000,
    says: "started",
  }),
  row("cpu-of-a-pattern", "time, by a regular expression", HANGS),
  row("waits-asleep", "time, asleep", HANGS),
  row("waits-for-ever", "time, asleep within JavaScript", HANGS),
  row("waits-at-the-exit", "time, at the exit", {
    ends: ["timeout", "succeeded"],
    timeoutMs: 1_000,
    says: "started",
  }),
  row("exits-at-once", "the worker, by _exit()", FAILS, { says: "started" }),
  row("aborts", "the worker, by abort()", FAILS, { says: "started" }),
  row("interrupts-itself", "the worker, by KeyboardInterrupt", FAILS, {
    says: "started",
    error: "KeyboardInterrupt",
  }),
  row("output-without-end", "the host's memory, by output", {
    ends: ["output_limit"],
    timeoutMs: 6_000,
    says: "line 1",
  }),
  row("complaints-without-end", "the host's memory, by complaints", {
    ends: ["output_limit"],
    timeoutMs: 6_000,
  }),
  row("output-without-newline", "the host's memory, by one line", {
    ends: ["output_limit", "memory_limit"],
    timeoutMs: 6_000,
  }),
  row("recursion", "the stack", {
    ends: ["failed", "timeout", "memory_limit"],
    timeoutMs: 1_500,
    says: "started",
  }),
  row("input-beyond-its-end", "time, by reading what will never come", { ends: ["succeeded"], tries: 5 }),
];
