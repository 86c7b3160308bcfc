import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { ERRORS } from "../../src/domain/core/errors.ts";

const page = await readFile(path.join(import.meta.dirname, "../../docs/reference/errors.md"), "utf8");
const rows = [...page.matchAll(/^\| `([A-Z_]+)` \| (\d+) \| ([A-Z_]+) \| (.+) \| (.+) \|$/gm)];

it("docs/reference/errors.md lists the errors of the proto catalogue in their order", () => {
  const documented = rows.map(([, code, status, rpc]) => [code, { status: Number(status), rpc }]);
  expect(documented).toEqual(Object.entries(ERRORS));
});

it("docs/reference/errors.md says for every error when it occurs and what to do", () => {
  for (const [row, , , , when, what] of rows) {
    expect(when?.trim(), row).not.toBe("");
    expect(what?.trim(), row).not.toBe("");
  }
});
