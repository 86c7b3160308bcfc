import path from "node:path";
import { describe, expect, it } from "vitest";

import { importsOf, Reach, unitTests } from "./test-groups.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");

describe("the group of a test", () => {
  it.each([
    ['import net from "node:net";', ["node:net"]],
    ['import { isIP, connect } from "node:net";', ["node:net"]],
    ['import { isIP, BlockList } from "node:net";', []],
    ['import { type Server } from "node:http";', []],
    ['import type { Server } from "node:http";', []],
    ['import type pg from "pg";', []],
    ['import "pg";', ["pg"]],
    ['export { query } from "../support/database-server.ts";', ["../support/database-server.ts"]],
    [
      'import {\n  one,\n  other,\n} from "./several.ts";\nimport next from "./next.ts";',
      ["./several.ts", "./next.ts"],
    ],
    ['const late = await import("./late.ts");', ["./late.ts"]],
  ])("depends on the imports of %j", (source, imports) => {
    expect(importsOf(source)).toEqual(imports);
  });

  it("is found through every import on the way", () => {
    const reach = new Reach(ROOT);
    expect(reach.wayOut(path.join(ROOT, "test/support/world.ts"))).toBeDefined();
    expect(reach.wayOut(path.join(ROOT, "test/domain/core/money.test.ts"))).toBeUndefined();
  });

  it("is unit for this file, and system for tests with a database", () => {
    const unit = unitTests(ROOT);
    expect(unit).toContain("test/tooling/test-groups.test.ts");
    expect(unit).not.toContain("test/support/postgres.test.ts");
  });
});
