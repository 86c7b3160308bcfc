import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findWheels, readWheels } from "../../../src/sandbox/process/wheels.ts";

let folder: string;
beforeEach(async () => (folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-wheels-"))));
afterEach(async () => await rm(folder, { recursive: true }));

const put = async (file: string, content = "wheel") => await writeFile(path.join(folder, file), content);
const sum = (content: string) => createHash("sha256").update(content).digest("hex");
const NAME = "greeting-1.2.0-py3-none-any.whl";

describe("wheels of the operator", () => {
  it("are found in order of their names; an empty folder has none", async () => {
    expect(await findWheels(folder)).toEqual([]);
    await put("zebra-2.0-py2.py3-none-any.whl");
    await put(NAME);
    await put("notes.txt");
    expect((await findWheels(folder)).map((wheel) => wheel.package)).toEqual(["greeting 1.2.0", "zebra 2.0"]);
  });

  it("are rejected if they contain machine code", async () => {
    await put("numpy-2.0-cp314-cp314-manylinux_2_17_x86_64.whl");
    await expect(findWheels(folder)).rejects.toThrow("is not a pure-Python wheel");
  });

  it("must match the pinned checksums", async () => {
    await put(NAME);
    await put("SHA256SUMS", `${sum("wheel")}  ${NAME}\n`);
    const [wheel] = await findWheels(folder);
    expect(wheel?.sha256).toBe(sum("wheel"));
    await put(NAME, "another");
    await expect(findWheels(folder)).rejects.toThrow("differs from the pinned file");
    await put("SHA256SUMS", "");
    await expect(findWheels(folder)).rejects.toThrow("is not pinned");
    await put("SHA256SUMS", `${sum("another")}  ${NAME}\n${sum("x")}  gone-1-py3-none-any.whl\n`);
    await expect(findWheels(folder)).rejects.toThrow("which does not exist");
    await put("SHA256SUMS", "what is this");
    await expect(findWheels(folder)).rejects.toThrow("is not a line as `sha256sum *.whl` writes it");
  });

  it("are rejected if changed since they were found", async () => {
    await put(NAME);
    const wheels = await findWheels(folder);
    expect(await readWheels(folder, wheels)).toEqual([Buffer.from("wheel")]);
    await put(NAME, "another");
    await expect(readWheels(folder, wheels)).rejects.toThrow("changed while the gateway was running");
  });

  it("fail if the folder does not exist", async () => {
    await expect(findWheels(path.join(folder, "nowhere"))).rejects.toThrow("ENOENT");
  });
});
