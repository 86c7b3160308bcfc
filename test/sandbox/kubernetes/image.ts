import { execFile } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";

const ROOT = path.resolve(import.meta.dirname, "../../..");

export async function collectedImage(): Promise<{ readonly program: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-image-"));
  await chmod(folder, 0o755);
  const collect = path.join(ROOT, "deploy/kubernetes/sandbox-image/collect.mjs");
  await promisify(execFile)(process.execPath, [collect, ROOT, folder]);
  return {
    program: path.join(folder, "src/sandbox/kubernetes/pod/main.ts"),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
