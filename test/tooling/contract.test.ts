import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";

import { command, ROOT } from "./command.ts";
import { BASELINE } from "./parts.ts";

const RECEIPT = "proto/toolgate/v1/receipt.proto";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-contract-"));
  for (const part of ["buf.yaml", "proto", BASELINE]) {
    await cp(path.join(ROOT, part), path.join(folder, part), { recursive: true });
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const breaking = () => command("buf", ["breaking", "--against", BASELINE], { cwd: folder });

async function edit(from: RegExp, to: string): Promise<void> {
  const source = await readFile(path.join(ROOT, RECEIPT), "utf8");
  const edited = source.replace(from, to);
  expect(edited).not.toBe(source);
  await writeFile(path.join(folder, RECEIPT), edited);
}

it("refuses a field whose type changed", async () => {
  await edit(/\bint64 debited_usdc_microusd\b/, "string debited_usdc_microusd");
  const { code, output } = await breaking();
  expect(output).toMatch(/debited_usdc_microusd.* changed type from "int64" to "string"/);
  expect(code).not.toBe(0);
});

it("refuses a field that was renamed, because JSON callers read names", async () => {
  await edit(/\bint64 debited_usdc_microusd\b/, "int64 charged_usdc_microusd");
  const { code, output } = await breaking();
  expect(output).toMatch(/changed (?:json )?name from "debited_?/i);
  expect(code).not.toBe(0);
});

it("lets a field be added", async () => {
  await edit(/(message Receipt \{\n)/, "$1  // Added later.\n  string added_later = 9999;\n");
  expect(await breaking()).toEqual({ code: 0, output: "" });
});
