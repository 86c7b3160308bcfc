import type { Row } from "./case.ts";

/** Tries that meet a wall: the code itself goes on to its end. */
const SUCCEEDS = { ends: ["succeeded"] } as const;
const FAILS = { ends: ["failed"] } as const;
const HANGS = { ends: ["timeout"], timeoutMs: 700 } as const;
/** The allocator may refuse, and the code fail; the kernel or the host may end it. What it held at most is asked of all together. */
const BOMB = { ends: ["memory_limit", "failed", "cpu_limit", "timeout"], timeoutMs: 2_000 } as const;

export const JAVASCRIPT: readonly Row[] = [
  {
    name: "honest",
    attacks: "nothing: what anybody may do works",
    ...SUCCEEDS,
    sharp: true,
    says: "1.234,5",
    result: { answers: [1, 4, 9], sum: 14, at: "1970-01-01T00:00:00.000Z" },
  },

  // The host's files
  {
    name: "files-read",
    attacks: "files, by reading",
    ...SUCCEEDS,
    tries: 14,
    sharp: true,
    bites: ["Deno.readTextFile", "Deno.readDir", "Deno.stat", "fs.readFileSync", "fs.existsSync", "fetch of a file"],
  },
  {
    name: "files-read-by-detours",
    attacks: "files, through imports, /proc and odd paths",
    ...SUCCEEDS,
    tries: 12,
    bites: ["import of JSON", "require of JSON", "a path through /proc/self/root", "a path as bytes"],
  },
  {
    name: "files-write",
    attacks: "files, by writing, linking, renaming, removing",
    ...SUCCEEDS,
    tries: 16,
    sharp: true,
    bites: ["Deno.writeTextFile", "Deno.mkdir", "Deno.symlink", "Deno.chmod", "fs.writeFileSync", "process.chdir"],
  },
  {
    name: "files-of-the-kernel",
    attacks: "/proc, /sys and /dev",
    ...SUCCEEDS,
    tries: 18,
    sharp: true,
    bites: ["/proc/self/environ", "/proc/self/mem", "/dev/zero"],
  },
  {
    name: "environment",
    attacks: "variables, users and names of the host",
    ...SUCCEEDS,
    tries: 15,
    sharp: true,
    bites: ["Deno.env.toObject", "process.env.PATH", "Deno.hostname", "Deno.uid"],
  },

  // The network
  {
    name: "network-tcp",
    attacks: "TCP to this host and to the metadata of clouds, listeners",
    ...SUCCEEDS,
    tries: 12,
    sharp: true,
    bites: ["Deno.listen", "Deno.serve"],
  },
  { name: "network-udp", attacks: "UDP and QUIC", ...SUCCEEDS, tries: 2 },
  { name: "network-udp-by-node", attacks: "UDP through node:dgram", ...FAILS, says: "begun", bites: ["sent"] },
  { name: "network-fetch", attacks: "HTTP, WebSocket, EventSource, WebTransport", ...SUCCEEDS, tries: 13 },
  { name: "network-node", attacks: "the network through node's modules, DNS", ...SUCCEEDS, tries: 10, sharp: true },
  { name: "network-listening-by-node", attacks: "a listener through node:net", ...FAILS, says: "begun", bites: [""] },

  // Processes and native code
  {
    name: "processes",
    attacks: "processes",
    ...SUCCEEDS,
    tries: 10,
    sharp: true,
    bites: ["Deno.Command", "execSync", "spawnSync"],
  },
  { name: "signals-to-others", attacks: "processes of others, by signals", ...SUCCEEDS, tries: 7 },
  { name: "foreign-functions", attacks: "native code", ...SUCCEEDS, tries: 7, bites: ["Deno.UnsafePointer"] },
  {
    name: "sqlite",
    attacks: "files through SQLite",
    ...SUCCEEDS,
    tries: 11,
    bites: ["a database in a file", "ATTACH", "VACUUM INTO"],
  },

  // Code from elsewhere
  {
    name: "import-code",
    attacks: "imports of remote and local code, packages",
    ...SUCCEEDS,
    tries: 13,
    bites: ["import of file://{{dir}}/module.js"],
  },
  { name: "import-remote-statically", attacks: "a static import of remote code", ...FAILS, error: "import access" },
  { name: "import-npm-statically", attacks: "a static import of a package", ...FAILS, error: "npm" },
  {
    name: "import-file-statically",
    attacks: "a static import of a file, before anything runs",
    ...FAILS,
    error: "read access",
    sharp: true,
    bites: [""],
  },
  { name: "import-text-statically", attacks: "a static import of a text", ...FAILS, error: "read access" },
  {
    name: "import-file-through-a-module-of-data",
    attacks: "files through modules made at run time",
    ...SUCCEEDS,
    tries: 5,
    bites: ["a new function that imports", "eval that imports"],
  },

  // The walls themselves
  {
    name: "permissions",
    attacks: "permissions, by asking for them",
    ...SUCCEEDS,
    tries: 22,
    sharp: true,
    bites: ["query read", "request run", "read after requests"],
  },
  {
    name: "workers",
    attacks: "workers that have other permissions",
    ends: ["succeeded", "memory_limit", "failed"],
    timeoutMs: 4_000,
    bites: ["a worker of the web", "a worker of node"],
  },
  { name: "workers-with-permissions", attacks: "a worker that is given permissions", ...FAILS, says: "begun" },
  { name: "internals", attacks: "what the runtime keeps for itself", ...SUCCEEDS, tries: 20 },
  {
    name: "inspector",
    attacks: "the debugger, heap snapshots, flags of V8",
    ...SUCCEEDS,
    tries: 7,
    bites: ["v8.writeHeapSnapshot"],
  },
  {
    name: "worker-source",
    attacks: "the worker's own source and arguments",
    ...SUCCEEDS,
    bites: ["the worker's source, read"],
  },
  {
    name: "descriptors",
    attacks: "descriptors that were left open",
    ...SUCCEEDS,
    tries: 3,
    result: "honest",
    sharp: true,
  },

  // What the host is told
  {
    name: "forged-frames",
    attacks: "the host, by forged frames and halves of frames",
    ...SUCCEEDS,
    result: "honest",
    sharp: true,
  },
  {
    name: "stolen-frames",
    attacks: "the nonce, by listening to what the worker calls",
    ...SUCCEEDS,
    says: "listening",
    result: "honest",
    sharp: true,
  },
  {
    name: "pollution-of-prototypes",
    attacks: "the worker's last words, by prototypes",
    ...FAILS,
    error: "thrown all the same",
    sharp: true,
  },
  {
    name: "pollution-of-promises",
    attacks: "the worker's last words, by promises",
    ends: ["succeeded", "failed", "timeout"],
    timeoutMs: 700,
    says: "said before",
  },
  {
    name: "pollution-of-output",
    attacks: "the worker's last words, by what writes them",
    ...SUCCEEDS,
    says: "said before",
    result: "honest",
  },
  { name: "pollution-of-the-result", attacks: "the host's prototypes, by names in the result", ...SUCCEEDS },
  { name: "result-that-hangs", attacks: "the worker, by a getter that never returns", ...HANGS },
  { name: "result-that-changes", attacks: "the worker, by a proxy", ...SUCCEEDS, says: "asked", result: { asked: 1 } },
  {
    name: "result-that-is-huge",
    attacks: "the host's memory, by a result",
    ends: ["output_limit", "memory_limit", "failed"],
    timeoutMs: 3_000,
    result: null,
  },
  {
    name: "result-that-is-deep",
    attacks: "whatever walks through the result",
    ends: ["succeeded", "failed", "output_limit"],
  },
  { name: "result-that-throws", attacks: "the worker, by an error that cannot be told", ...FAILS },

  // What it may use
  { name: "memory-of-the-heap", attacks: "memory, by objects", ...BOMB },
  { name: "memory-of-buffers", attacks: "memory outside the heap", ...BOMB, sharp: true },
  {
    name: "memory-of-buffers-caught",
    attacks: "memory, refusals ignored",
    ends: ["memory_limit", "failed", "cpu_limit", "timeout", "succeeded"],
    timeoutMs: 3_000,
  },
  { name: "memory-of-webassembly", attacks: "memory of WebAssembly", ...BOMB },
  { name: "memory-of-shared-buffers", attacks: "memory that threads share", ...BOMB },
  { name: "memory-of-strings", attacks: "memory, by strings", ...BOMB },
  { name: "memory-of-promises", attacks: "memory, by timers and promises", ...BOMB },
  { name: "decompression", attacks: "memory, by unpacking", ...BOMB },
  { name: "cpu-of-a-loop", attacks: "time", ...HANGS, says: "begun", sharp: true },
  { name: "cpu-of-microtasks", attacks: "time, by microtasks", ...HANGS, says: "begun" },
  { name: "cpu-of-a-pattern", attacks: "time, by a regular expression", ...HANGS, says: "begun" },
  {
    name: "cpu-of-the-pool",
    attacks: "processor time, by the runtime's own threads",
    ends: ["cpu_limit", "timeout", "memory_limit"],
    timeoutMs: 2_000,
  },
  {
    name: "source-that-is-deep",
    attacks: "the reader of the source, by nesting",
    ends: ["failed", "memory_limit", "timeout"],
    timeoutMs: 3_000,
    says: "begun",
  },
  {
    name: "cpu-of-threads",
    attacks: "processor time, by threads",
    ends: ["cpu_limit", "memory_limit", "failed"],
    timeoutMs: 8_000,
  },
  { name: "waits-for-ever", attacks: "time, asleep", ...HANGS, says: "begun", sharp: true },
  { name: "waits-with-timers", attacks: "time, by timers", ...HANGS, says: "begun" },
  { name: "waits-at-the-exit", attacks: "time, at the exit", ...HANGS, says: "begun" },
  { name: "signals-handled", attacks: "its end, by handlers of signals", ...HANGS, says: "begun" },
  { name: "signals-to-itself", attacks: "its end, by stopping itself", ...HANGS, says: "begun" },
  { name: "aborts", attacks: "the worker, by abort()", ...FAILS, says: "begun" },
  { name: "exits-oddly", attacks: "the worker's exit code", ...FAILS, says: "begun" },
  {
    name: "output-without-end",
    attacks: "the host's memory, by output",
    ends: ["output_limit"],
    timeoutMs: 6_000,
    says: "line 0",
    sharp: true,
  },
  {
    name: "complaints-without-end",
    attacks: "the host's memory, by complaints",
    ends: ["output_limit"],
    timeoutMs: 6_000,
  },
  {
    name: "output-of-single-bytes",
    attacks: "the host's time, by single bytes that may begin a frame",
    ends: ["output_limit", "timeout"],
    timeoutMs: 3_000,
  },
  {
    name: "output-closed",
    attacks: "the worker's last words, by closing what they go to",
    ends: ["succeeded", "failed"],
    says: "before",
  },
  { name: "recursion", attacks: "the stack", ...FAILS, error: "RangeError" },
];
