import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { afterAll, beforeAll, expect, it } from "vitest";
import { findHaproxy } from "../../src/dev/haproxy.ts";
import { command } from "../tooling/command.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "toolgate-cells-"));
  chmodSync(folder, 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const cells = () =>
  command(process.execPath, ["src/main.ts", "dev", "--cells", "--exit-after-demo"], {
    env: { DATA_DIR: folder },
  });

it("npm run cells sells calls of three cells at one address and exits with 0", async ({ skip }) => {
  if (findHaproxy() === undefined) return skip("HAProxy is not installed");
  const { code, output } = await cells();
  expect(code, output).toBe(0);
  expect(output.match(/^Three cells are ready: http:\/\/127\.0\.0\.1:\d+/gm)).toHaveLength(1);
  // Each account bought in its cell, which is in the receipt's id; a wallet bought without a key.
  expect(Array.from(output.matchAll(/receipt rcpt_\w{28}(\w{4}),/g), ([, cell]) => cell)).toEqual([
    "0001",
    "0002",
    "0003",
  ]);
  expect(output.match(/the same receipt, not charged again/g)).toHaveLength(3);
  expect(output.match(/streamed a chat/g)).toHaveLength(3);
  expect(output.match(/bought by a wallet alone +-> 200/g)).toHaveLength(3);
  expect(new Set(output.match(/treasury \w+/g)).size).toBe(3);
});
