for (const from of [
  "http://127.0.0.1:{{port}}/module.js",
  "https://deno.land/std@0.224.0/version.ts",
  "https://jsr.io/@std/path/1.0.0/mod.ts",
  "https://esm.sh/left-pad",
  "https://raw.githubusercontent.com/denoland/std/main/version.ts",
  "npm:left-pad@1.3.0",
  "jsr:@std/path@1",
  "left-pad",
  "file://{{dir}}/module.js",
  "file:///usr/lib/node_modules/npm/index.js",
])
  await attempt(`import of ${from}`, async () => Object.keys(await import(from)).join() || "imported");
await attempt(
  "require of a package",
  () => process.getBuiltinModule("module").createRequire("file:///x.js")("left-pad") && "required",
);
await attempt(
  "registered hooks",
  () => (process.getBuiltinModule("module").register("http://127.0.0.1:{{port}}/hooks.js"), undefined),
);
await attempt(
  "WebAssembly by URL",
  async () => (await WebAssembly.instantiateStreaming(fetch("http://127.0.0.1:{{port}}/m.wasm"))) && "loaded",
);
