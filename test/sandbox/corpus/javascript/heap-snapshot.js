const v8 = await import("node:v8");
console.log("started");
await attempt("v8.writeHeapSnapshot", () => v8.writeHeapSnapshot("{{dir}}/heap"));
