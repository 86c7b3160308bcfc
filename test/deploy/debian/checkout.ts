import { execFileSync } from "node:child_process";
import { cpSync } from "node:fs";
import path from "node:path";
import { ROOT } from "../../tooling/command.ts";

/** Not files of a checkout. */
const LEFT_OUT = new Set([".git", ".toolgate", "deploy/.env", "deploy/secrets", "dist", "node_modules"]);
const AUTHOR = ["-c", "user.name=test", "-c", "user.email=test@localhost"];

/** Copies the project as it is into a folder: a repository of one commit. */
export function copyCheckout(folder: string): void {
  const filter = (file: string) => !LEFT_OUT.has(path.relative(ROOT, file));
  cpSync(ROOT, folder, { recursive: true, verbatimSymlinks: true, filter });
  for (const args of [
    ["init", "--quiet"],
    ["add", "."],
    [...AUTHOR, "commit", "--quiet", "--message=all"],
  ])
    execFileSync("git", ["-C", folder, ...args]);
}
