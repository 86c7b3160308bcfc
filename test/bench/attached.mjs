import { enableCompileCache } from "node:module";
import process from "node:process";

// Loaded into every benchmark process (node --import): ends it with the benchmark and reports its CPU time.
enableCompileCache(new URL("../../node_modules/.cache/compile", import.meta.url).pathname);
process.on("disconnect", () => process.exit());
process.on("message", (message) => {
  if (message !== "cpu") return;
  const { user, system } = process.cpuUsage();
  process.send?.({ cpuSeconds: (user + system) / 1_000_000 });
});
