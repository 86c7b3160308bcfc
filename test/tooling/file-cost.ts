import process from "node:process";
import { afterAll, expect } from "vitest";
import { cpuMs, writeCost } from "./costs.ts";

// Loaded before each test file: records the CPU time of the file and of the processes that it starts. Some
// payment clients replace fetch for good, and the next file runs in the same process.

const before = cpuMs(process.pid);
const { fetch } = globalThis;
afterAll(() => {
  globalThis.fetch = fetch;
  writeCost(expect.getState().testPath ?? "", cpuMs(process.pid) - before);
});
