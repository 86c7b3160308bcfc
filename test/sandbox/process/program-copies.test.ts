import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { afterEach, beforeEach, expect, it } from "vitest";
import { removeUnusedCopies, markCopyUsed } from "../../../src/sandbox/process/stage.ts";

const [OURS, THEIRS, OLD] = ["0".repeat(16), "1".repeat(16), "2".repeat(16)];
/** Id of a dead process. */
const { pid: over } = spawnSync("true");
const LATER = Date.now() + 7_200_000;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-copies-"));
  for (const name of [OURS, THEIRS, OLD, `${OURS}.0123456789ab`]) {
    await mkdir(path.join(folder, name));
    await writeFile(path.join(folder, name, "deno"), "");
  }
  await markCopyUsed(folder, OURS);
  await writeFile(path.join(folder, `${THEIRS}.used-by-${process.ppid}`), "");
  await writeFile(path.join(folder, `${OLD}.used-by-${over}`), "");
  await writeFile(path.join(folder, "note"), "");
});
afterEach(async () => await rm(folder, { recursive: true }));

it("deletes unused and unfinished copies", async () => {
  await removeUnusedCopies(folder, LATER);
  expect((await readdir(folder)).sort()).toEqual([
    OURS,
    `${OURS}.used-by-${process.pid}`,
    THEIRS,
    `${THEIRS}.used-by-${process.ppid}`,
    "note",
  ]);
});

it("keeps recent copies", async () => {
  await removeUnusedCopies(folder, Date.now());
  expect(await readdir(folder)).toEqual(expect.arrayContaining([OLD, `${OURS}.0123456789ab`]));
  expect(await readdir(folder)).not.toContain(`${OLD}.used-by-${over}`);
});
