const [inspector, v8] = [await import("node:inspector"), await import("node:v8")];
await attempt("inspector.open", () => (inspector.open(0), inspector.url()));
await attempt(
  "inspector.Session",
  () =>
    new Promise((resolve, reject) => {
      const session = new inspector.Session();
      session.connect();
      const expression = `Deno.readTextFileSync("{{file}}")`;
      session.post("Runtime.evaluate", { expression, includeCommandLineAPI: true }, (error, answer) =>
        error ? reject(error) : resolve(answer.result.subtype === "error" ? undefined : answer.result.value),
      );
      setTimeout(() => reject(new Error("no answer")), 200);
    }),
);
await attempt(
  "v8.setFlagsFromString",
  () => (v8.setFlagsFromString("--allow-natives-syntax"), new Function("return %GetOptimizationStatus(() => 1)")()),
);
await attempt("process.report.writeReport", () => process.report.writeReport("{{dir}}/report"));
await attempt(
  "node:trace_events",
  async () => ((await import("node:trace_events")).createTracing({ categories: ["v8"] }).enable(), undefined),
);
await attempt("process.setSourceMapsEnabled", () => (process.setSourceMapsEnabled?.(true), undefined));
