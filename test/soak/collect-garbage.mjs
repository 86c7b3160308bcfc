import { writeFileSync } from "node:fs";
import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

// Loaded into the gateway under soak (NODE_OPTIONS --import): SIGUSR2 collects garbage and writes the memory
// in use to SOAK_MEMORY_FILE at once.
setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");
const file = process.env["SOAK_MEMORY_FILE"];
let collections = 0;
process.on("SIGUSR2", () => {
  collect();
  collections++;
  if (file !== undefined) writeFileSync(file, JSON.stringify({ collections, ...process.memoryUsage() }));
});
