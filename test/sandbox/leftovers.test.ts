import { expect, it } from "vitest";
import { ProcessEngine } from "../../src/sandbox/process/process-engine.ts";
import { leftoversOf } from "./leftovers.ts";
import { silent } from "./silent-log.ts";

it("leaves no process, descriptor, file or memory behind", async () => {
  const idle = { javascript: 2, python: 0 };
  const engine = ProcessEngine.open({ log: silent, limits: { outputBytes: 65_536 }, idle, waitMs: 60_000 });
  try {
    const { residentMb, descriptors, ...left } = await leftoversOf(engine, idle.javascript, 30);
    expect(left).toEqual({ processes: 0, files: 0 });
    // Earlier tests may still be closing theirs.
    expect(descriptors).toBeLessThanOrEqual(0);
    expect(residentMb).toBeLessThan(64);
  } finally {
    await engine.close();
  }
});
