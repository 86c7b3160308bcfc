import { spawn } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { expect, it } from "vitest";
import { firstLine, stopChild } from "../support/child.ts";
import { removeRunFolder } from "./memory-folder.ts";

it("lets a run end with its counts although a process still writes into its folder", async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "toolgate-run-"));
  const program = `import { mkdirSync } from "node:fs";
    const write = () => mkdirSync(${JSON.stringify(path.join(folder, "compiled"))}, { recursive: true });
    write();
    console.log("writing");
    for (;;) write();`;
  const writer = spawn(process.execPath, ["--input-type=module", "-e", program]);
  await firstLine(writer);
  await removeRunFolder(folder);
  await stopChild(writer, "SIGKILL");
  await removeRunFolder(folder);
  expect(existsSync(folder)).toBe(false);
});
