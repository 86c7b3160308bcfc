import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ImageFile } from "../../../src/sandbox/process/image-file.ts";
import type { LaunchLine } from "../../../src/sandbox/process/launch-line.ts";
import { PythonStarter } from "../../../src/sandbox/process/python-starter.ts";
import { silent } from "../silent-log.ts";
import { NEVER } from "./bench.ts";

/** Imitates Python's worker, logs its requests, and makes an image only if a file allows it. */
const WORKER = String.raw`
length=$(head -c 8); asked=$(head -c $((0x$length))); echo "$asked" >> "$1/asked"
case "$asked" in *make*)
  [ -e "$1/can" ] || exit 1
  printf '\0ready\0'; head -c 10 > /dev/null; printf 00000003abc; exit 0 ;;
esac
[ ! -e "$1/cannot" ] || case "$asked" in *'"image":true'*) exit 1 ;; esac
printf '\0ready\0'; cat > /dev/null`;

let folder: string;
let line: LaunchLine;
let starter: PythonStarter;
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-starter-"));
  line = ["/bin/sh", "-c", WORKER, "sh", folder];
  starter = newStarter();
});
afterEach(async () => await rm(folder, { recursive: true }));

const newStarter = () => new PythonStarter(silent, new ImageFile(path.join(folder, "kept/image")));

/**
 * Starts a worker.
 * @returns the requests since the last start
 */
async function start(version = "1"): Promise<string[]> {
  await writeFile(path.join(folder, "asked"), "");
  const worker = await starter.start(
    { language: "python", line, timeoutMs: 60_000, signal: NEVER },
    "/pyodide",
    version,
    [],
  );
  worker.end();
  const asked = (await readFile(path.join(folder, "asked"), "utf8")).trim().split("\n");
  return asked.map((json) =>
    json.includes("make") ? "make" : json.includes('"image":true') ? "from it" : "without",
  );
}

it("makes an image later if the first attempt failed", async () => {
  expect(await start()).toEqual(["make", "without"]);
  await writeFile(path.join(folder, "can"), "");
  expect(await start()).toEqual(["make", "from it"]);
  expect(await start()).toEqual(["from it"]);
});

it("works without an image after several failures", async () => {
  for (let times = 0; times < 3; times += 1) expect(await start()).toEqual(["make", "without"]);
  expect(await start()).toEqual(["without"]);
});

it("keeps the image for the next process, until the programs change", async () => {
  await writeFile(path.join(folder, "can"), "");
  expect(await start()).toEqual(["make", "from it"]);
  starter = newStarter();
  expect(await start()).toEqual(["from it"]);
  starter = newStarter();
  expect(await start("2")).toEqual(["make", "from it"]);
});

it("makes the image again if no worker starts from the kept one", async () => {
  await writeFile(path.join(folder, "can"), "");
  await start();
  await writeFile(path.join(folder, "cannot"), "");
  expect(await start()).toEqual(["from it", "without"]);
  await rm(path.join(folder, "cannot"));
  starter = newStarter();
  expect(await start()).toEqual(["make", "from it"]);
});

it("makes an image without a place to keep it", async () => {
  await writeFile(path.join(folder, "can"), "");
  await writeFile(path.join(folder, "kept"), "a file, so that no folder can be made");
  expect(await start()).toEqual(["make", "from it"]);
  starter = newStarter();
  expect(await start()).toEqual(["make", "from it"]);
});
