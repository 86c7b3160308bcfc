const { createRequire } = await import("node:module");
const symbols = { getpid: { parameters: [], result: "i32" } };
await attempt("Deno.dlopen libc", () => Deno.dlopen("libc.so.6", symbols).symbols.getpid());
await attempt("Deno.dlopen of itself", () => Deno.dlopen("/proc/self/exe", symbols) && "opened");
await attempt("Deno.UnsafePointer", () => String(Deno.UnsafePointer.value(Deno.UnsafePointer.of(new Uint8Array(8)))));
await attempt("Deno.UnsafePointerView", () => new Deno.UnsafePointerView(Deno.UnsafePointer.create(4096n)).getUint8());
await attempt(
  "Deno.UnsafeCallback",
  () => new Deno.UnsafeCallback({ parameters: [], result: "void" }, () => {}) && "made",
);
await attempt(
  "process.dlopen",
  () => (process.dlopen({ exports: {} }, "/usr/lib/x86_64-linux-gnu/libc.so.6"), "opened"),
);
await attempt(
  "require of an addon",
  () => createRequire("file:///x.js")("/usr/lib/x86_64-linux-gnu/libc.so.6.node") && "loaded",
);
