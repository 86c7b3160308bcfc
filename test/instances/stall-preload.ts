/** Preloaded into an instance (`node --import`): SIGUSR2 blocks its event loop for STALL_MS. */
import process from "node:process";
import { isMainThread } from "node:worker_threads";

if (isMainThread) {
  process.on("SIGUSR2", () => {
    process.stderr.write(`stalled for ${process.env["STALL_MS"]} ms\n`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(process.env["STALL_MS"]));
  });
}
