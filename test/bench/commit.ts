import { execFileSync } from "node:child_process";
import { ROOT } from "../tooling/command.ts";

export function commitOf(): string | undefined {
  try {
    const git = (...args: string[]) =>
      execFileSync("git", args, { cwd: ROOT, encoding: "utf8", stdio: "pipe" }).trim();
    // Results go into the documentation part by part.
    const changed = git("status", "--porcelain", "--untracked-files=no", "--", ":!docs");
    return changed === "" ? git("rev-parse", "--short=7", "HEAD") : undefined;
  } catch {
    return undefined;
  }
}
