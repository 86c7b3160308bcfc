import { Session } from "node:inspector/promises";
import { enableCompileCache } from "node:module";
import process from "node:process";

// Loaded into every benchmark process (node --import): ends it with the benchmark, reports its CPU time and
// collects garbage on request.
enableCompileCache(new URL("../../node_modules/.cache/compile", import.meta.url).pathname);
process.on("disconnect", () => process.exit());
process.on("message", (message) => {
  if (message === "cpu") {
    const { user, system } = process.cpuUsage();
    process.send?.({ cpuSeconds: (user + system) / 1_000_000 });
  }
  if (message === "collect") void collectGarbage().then(() => process.send?.({ collected: true }));
});

async function collectGarbage() {
  const session = new Session();
  session.connect();
  await session.post("HeapProfiler.collectGarbage");
  session.disconnect();
}
