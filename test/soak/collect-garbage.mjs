import { writeFileSync } from "node:fs";
import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

// Loaded into the gateway under soak (NODE_OPTIONS --import): at SIGUSR2 it collects garbage and writes into
// the file SOAK_MEMORY_FILE what is held then, at once, before anything else happens.
setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");
const file = process.env["SOAK_MEMORY_FILE"];
let collections = 0;
process.on("SIGUSR2", () => {
  collect();
  collections++;
  if (file !== undefined) writeFileSync(file, JSON.stringify({ collections, ...process.memoryUsage() }));
});
