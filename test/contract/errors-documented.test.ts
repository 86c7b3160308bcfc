import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { ERRORS } from "../../src/domain/errors.ts";

/** docs/reference/errors.md is what callers read; src/domain/errors.ts is what they get. */

const page = await readFile(path.join(import.meta.dirname, "../../docs/reference/errors.md"), "utf8");
const rows = [...page.matchAll(/^\| `([A-Z_]+)` \| (\d+) \| ([A-Z_]+) \| (.+) \| (.+) \|$/gm)];

it("the catalogue of docs/reference/errors.md is the gateway's, in its order", () => {
  const documented = rows.map(([, code, status, rpc]) => [code, { status: Number(status), rpc }]);
  expect(documented).toEqual(Object.entries(ERRORS));
});

it("says for every error when it comes and what to do", () => {
  for (const [row, , , , when, what] of rows) {
    expect(when?.trim(), row).not.toBe("");
    expect(what?.trim(), row).not.toBe("");
  }
});
