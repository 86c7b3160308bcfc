const source = `import secret from "file://{{file}}" with { type: "json" }; export default JSON.stringify(secret);`;
await attempt(
  "data: that imports statically",
  async () => (await import(`data:text/javascript,${encodeURIComponent(source)}`)).default,
);
const blob = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
await attempt("blob: that imports statically", async () => (await import(blob)).default);
await attempt(
  "a new function that imports",
  async () => (await new Function("return import('file://{{file}}', { with: { type: 'json' } })")()).default.secret,
);
await attempt(
  "eval that imports",
  async () => (await (0, eval)("import('file://{{file}}', { with: { type: 'json' } })")).default.secret,
);
await attempt("node:vm that imports", async () => {
  const vm = await import("node:vm");
  const script = new vm.Script("import('file://{{file}}', { with: { type: 'json' } })", {
    importModuleDynamically: vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  return (await script.runInThisContext()).default.secret;
});
