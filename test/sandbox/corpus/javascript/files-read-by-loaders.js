const { Module } = await import("node:module");
// A file that is no module comes out in the message: the line that cannot be read.
const loaded = (load) => {
  const module = new Module("/x");
  try {
    load(module);
    return Object.keys(module.exports).join();
  } catch (error) {
    if (/SyntaxError/.test(error.message)) return error.message;
    throw error;
  }
};
const extensions = { ".mjs": "spare", ".wasm": "module.js", ".js": "module.mts", ".cjs": "module.js", ".json": "file.json" };
for (const [extension, name] of Object.entries(extensions)) {
  await attempt(`the loader of ${extension}`, () => loaded((module) => Module._extensions[extension](module, `{{dir}}/${name}`)));
}
await attempt("_compile", () => loaded((module) => module._compile("", "{{dir}}/module.js", "module")));
await attempt("a hook of the loader", () => {
  const hooks = Module.registerHooks({
    resolve: (name, context, next) =>
      name === "hooked" ? { url: "file://{{dir}}/module.js", format: "module", shortCircuit: true } : next(name, context),
  });
  try {
    return Object.keys(Module.createRequire("file:///x.js")("hooked")).join();
  } finally {
    hooks.deregister();
  }
});
