import { row, type Row } from "./case.ts";

/** Attempts that are refused while the code continues. */
const SUCCEEDS = { ends: ["succeeded"] } as const;
const FAILS = { ends: ["failed"] } as const;
const HANGS = { ends: ["timeout"], timeoutMs: 700 } as const;
/** Allocation may fail, or the kernel or host may kill it. Peak memory is checked for all cases together. */
const BOMB = { ends: ["memory_limit", "failed", "cpu_limit", "timeout"], timeoutMs: 2_000 } as const;

export const JAVASCRIPT: readonly Row[] = [
  row("honest", "nothing: permitted operations work", SUCCEEDS, {
    sharp: true,
    says: "1.234,5",
    result: { answers: [1, 4, 9], sum: 14, at: "1970-01-01T00:00:00.000Z" },
  }),

  // Host files
  row("files-read", "files, by reading", SUCCEEDS, {
    tries: 14,
    sharp: true,
    bites: [
      "Deno.readTextFile",
      "Deno.readDir",
      "Deno.stat",
      "fs.readFileSync",
      "fs.existsSync",
      "fetch of a file",
    ],
  }),
  row("files-read-by-detours", "files, through imports, /proc and odd paths", SUCCEEDS, {
    tries: 12,
    bites: ["import of JSON", "require of JSON", "a path through /proc/self/root", "a path as bytes"],
  }),
  row("files-read-by-loaders", "files, through the loaders of Node's modules", SUCCEEDS, {
    tries: 7,
    sharp: true,
    bites: ["the loader of .mjs", "the loader of .wasm", "the loader of .js", "_compile"],
  }),
  row("files-write", "files, by writing, linking, renaming, removing", SUCCEEDS, {
    tries: 16,
    sharp: true,
    bites: [
      "Deno.writeTextFile",
      "Deno.mkdir",
      "Deno.symlink",
      "Deno.chmod",
      "fs.writeFileSync",
      "process.chdir",
    ],
  }),
  row("files-of-the-kernel", "/proc, /sys and /dev", SUCCEEDS, {
    tries: 18,
    sharp: true,
    bites: ["/proc/self/environ", "/proc/self/mem", "/dev/zero"],
  }),
  row("environment", "variables, users and names of the host", SUCCEEDS, {
    tries: 15,
    sharp: true,
    bites: ["Deno.env.toObject", "process.env.PATH", "Deno.hostname", "Deno.uid"],
  }),

  // Network
  row("network-tcp", "TCP to this host and to the metadata of clouds, listeners", SUCCEEDS, {
    tries: 12,
    sharp: true,
    bites: ["Deno.listen", "Deno.serve"],
  }),
  row("network-udp", "UDP and QUIC", SUCCEEDS, { tries: 2 }),
  row("network-udp-by-node", "UDP through node:dgram", FAILS, { says: "started", bites: ["sent"] }),
  row("network-fetch", "HTTP, WebSocket, EventSource, WebTransport", SUCCEEDS, { tries: 13 }),
  row("network-node", "the network through node's modules, DNS", SUCCEEDS, { tries: 10, sharp: true }),
  row("network-listening-by-node", "a listener through node:net", FAILS, { says: "started", bites: [""] }),

  // Processes and native code
  row("processes", "processes", SUCCEEDS, {
    tries: 10,
    sharp: true,
    bites: ["Deno.Command", "execSync", "spawnSync"],
  }),
  row("signals-to-others", "processes of others, by signals", SUCCEEDS, { tries: 7 }),
  row("foreign-functions", "native code", SUCCEEDS, { tries: 7, bites: ["Deno.UnsafePointer"] }),
  row("sqlite", "files through SQLite", SUCCEEDS, {
    tries: 11,
    bites: ["a database in a file", "ATTACH", "VACUUM INTO"],
  }),

  // Foreign code
  row("import-code", "imports of remote and local code, packages", SUCCEEDS, {
    tries: 13,
    bites: ["import of file://{{dir}}/module.js"],
  }),
  row("import-remote-statically", "a static import of remote code", FAILS, { error: "import access" }),
  row("import-npm-statically", "a static import of a package", FAILS, { error: "npm" }),
  row("import-file-statically", "a static import of a file, before anything runs", FAILS, {
    error: "read access",
    sharp: true,
    bites: [""],
  }),
  row("import-text-statically", "a static import of a text", FAILS, { error: "read access" }),
  row("import-file-through-a-module-of-data", "files through modules made at run time", SUCCEEDS, {
    tries: 5,
    bites: ["a new function that imports", "eval that imports"],
  }),

  // The sandbox itself
  row("permissions", "permissions, by asking for them", SUCCEEDS, {
    tries: 22,
    sharp: true,
    bites: ["query read", "request run", "read after requests"],
  }),
  row("workers", "workers that have other permissions", {
    ends: ["succeeded", "memory_limit", "failed"],
    timeoutMs: 4_000,
    bites: ["a worker of the web", "a worker of node"],
  }),
  row("workers-with-permissions", "a worker that is given permissions", FAILS, { says: "started" }),
  row("internals", "what the runtime keeps for itself", SUCCEEDS, { tries: 20 }),
  row("inspector", "the debugger, flags of V8", SUCCEEDS, { tries: 6 }),
  row("heap-snapshot", "files and memory, by a snapshot of the heap", {
    ends: ["succeeded", "memory_limit"],
    says: "started",
    bites: ["v8.writeHeapSnapshot"],
  }),
  row("worker-source", "the worker's own source and arguments", SUCCEEDS, {
    bites: ["the worker's source, read"],
  }),
  row("descriptors", "descriptors that were left open", SUCCEEDS, {
    tries: 3,
    result: "honest",
    sharp: true,
  }),

  // Results and output
  row("forged-frames", "the host, by forged frames and halves of frames", SUCCEEDS, {
    result: "honest",
    sharp: true,
  }),
  row("stolen-frames", "the nonce, by listening to what the worker calls", SUCCEEDS, {
    says: "listening",
    result: "honest",
    sharp: true,
  }),
  row("pollution-of-prototypes", "the worker's last words, by prototypes", FAILS, {
    error: "thrown all the same",
    sharp: true,
  }),
  row("pollution-of-promises", "the worker's last words, by promises", {
    ends: ["succeeded", "failed", "timeout"],
    timeoutMs: 700,
    says: "said before",
  }),
  row("pollution-of-output", "the worker's last words, by what writes them", SUCCEEDS, {
    says: "said before",
    result: "honest",
  }),
  row("pollution-of-the-result", "the host's prototypes, by names in the result", SUCCEEDS),
  row("result-that-hangs", "the worker, by a getter that never returns", HANGS),
  row("result-that-changes", "the worker, by a proxy", SUCCEEDS, { says: "asked", result: { asked: 1 } }),
  row("result-that-is-huge", "the host's memory, by a result", {
    ends: ["output_limit", "memory_limit", "failed"],
    timeoutMs: 3_000,
    result: null,
  }),
  row("result-that-is-deep", "whatever walks through the result", {
    ends: ["succeeded", "failed", "output_limit"],
  }),
  row("result-that-throws", "the worker, by an error that cannot be reported", FAILS),

  // Resource limits
  row("memory-of-the-heap", "memory, by objects", BOMB),
  row("memory-of-buffers", "memory outside the heap", BOMB, { sharp: true }),
  row("memory-of-buffers-caught", "memory, refusals ignored", {
    ends: ["memory_limit", "failed", "cpu_limit", "timeout", "succeeded"],
    timeoutMs: 3_000,
  }),
  row("memory-of-webassembly", "memory of WebAssembly", BOMB),
  row("memory-of-shared-buffers", "memory that threads share", BOMB),
  row("memory-of-strings", "memory, by strings", BOMB),
  row("memory-of-promises", "memory, by timers and promises", BOMB),
  row("decompression", "memory, by unpacking", BOMB),
  row("cpu-of-a-loop", "time", HANGS, { says: "started", sharp: true }),
  row("cpu-of-microtasks", "time, by microtasks", HANGS, { says: "started" }),
  row("cpu-of-a-pattern", "time, by a regular expression", HANGS, { says: "started" }),
  row("cpu-of-the-pool", "processor time, by the runtime's own threads", {
    ends: ["cpu_limit", "timeout", "memory_limit"],
    timeoutMs: 2_000,
  }),
  row("source-that-is-deep", "the reader of the source, by nesting", {
    ends: ["failed", "memory_limit", "timeout"],
    timeoutMs: 3_000,
    says: "started",
  }),
  row("cpu-of-threads", "processor time, by threads", {
    ends: ["cpu_limit", "memory_limit", "failed"],
    timeoutMs: 8_000,
  }),
  row("waits-for-ever", "time, asleep", HANGS, { says: "started", sharp: true }),
  row("waits-with-timers", "time, by timers", HANGS, { says: "started" }),
  row("waits-at-the-exit", "time, at the exit", HANGS, { says: "started" }),
  row("signals-handled", "its end, by handlers of signals", HANGS, { says: "started" }),
  row("signals-to-itself", "its end, by stopping itself", HANGS, { says: "started" }),
  row("aborts", "the worker, by abort()", FAILS, { says: "started" }),
  row("exits-oddly", "the worker's exit code", FAILS, { says: "started" }),
  row("output-without-end", "the host's memory, by output", {
    ends: ["output_limit"],
    timeoutMs: 6_000,
    says: "line 0",
    sharp: true,
  }),
  row("complaints-without-end", "the host's memory, by complaints", {
    ends: ["output_limit"],
    timeoutMs: 6_000,
  }),
  row("output-of-single-bytes", "the host's time, by single bytes that may begin a frame", {
    ends: ["output_limit", "timeout"],
    timeoutMs: 3_000,
  }),
  row("output-closed", "the worker's last words, by closing what they go to", {
    ends: ["succeeded", "failed"],
    says: "before",
  }),
  row("recursion", "the stack", FAILS, { error: "RangeError" }),
];
