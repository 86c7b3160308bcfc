import { describe, expect, it } from "vitest";
import { PARTS } from "./tooling/parts.ts";

describe("npm run check", () => {
  it.each(PARTS)("passes $name", async ({ run }) => {
    const { code, output } = await run(AbortSignal.timeout(540_000));
    expect(code, output).toBe(0);
  });
});
