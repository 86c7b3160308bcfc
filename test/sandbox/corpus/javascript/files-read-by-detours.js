const { createRequire } = await import("node:module");
const require = createRequire("file:///x.js");
await attempt("import of JSON", async () =>
  JSON.stringify((await import("file://{{file}}", { with: { type: "json" } })).default),
);
await attempt("import of text", async () => (await import("file://{{file}}", { with: { type: "text" } })).default);
await attempt(
  "import of bytes",
  async () => (await import("file://{{file}}", { with: { type: "bytes" } })).default.length,
);
await attempt("require of JSON", () => JSON.stringify(require("{{file}}")));
await attempt("require.resolve", () => require.resolve("{{file}}"));
await attempt("process.loadEnvFile", () => (process.loadEnvFile("{{file}}"), "read"));
await attempt("a path through /proc/self/root", () => Deno.readTextFileSync("/proc/self/root{{file}}"));
await attempt("a path through /proc/self/cwd", () => Deno.readTextFileSync("/proc/self/cwd/../../../..{{file}}"));
await attempt("a path with dots", () => Deno.readTextFileSync("/usr/../{{file}}"));
await attempt("a URL that is encoded", () => Deno.readTextFileSync(new URL("file:///%2e%2e{{file}}")));
await attempt("a path as bytes", async () =>
  (await import("node:fs")).readFileSync(new TextEncoder().encode("{{file}}")),
);
await attempt("a path that changes its mind", () => {
  let asked = 0;
  return Deno.readTextFileSync({ toString: () => (asked++ === 0 ? "/dev/null" : "{{file}}") });
});
