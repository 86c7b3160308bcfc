import process from "node:process";
import { afterAll, expect } from "vitest";
import { cpuMs, writeCost } from "./costs.ts";

// Loaded before each test file: records the CPU time of the file and of the processes that it starts.

const before = cpuMs(process.pid);
afterAll(() => {
  writeCost(expect.getState().testPath ?? "", cpuMs(process.pid) - before);
});
