import { spawnSync } from "node:child_process";
import type { Isolation } from "../../src/sandbox/process/setup.ts";

const BUBBLEWRAP = "bwrap";

/** Whether bubblewrap is installed and may create namespaces. */
export function hasBubblewrap(): boolean {
  const { status } = spawnSync(BUBBLEWRAP, ["--unshare-all", "--ro-bind", "/", "/", "true"], {
    stdio: "ignore",
  });
  return status === 0;
}

/** `npm run corpus`: every snippet under every isolation of this machine. */
export const EVERYTHING = process.env["CORPUS"] === "everything";

/**
 * Isolations under test. `whole`: the strongest available one, which runs all tests. The other runs in `npm
 * run corpus`, and when bubblewrap is hidden.
 */
export function isolations(): { readonly isolation: Isolation; readonly whole: boolean }[] {
  if (hasBubblewrap()) {
    const weaker = EVERYTHING ? [{ isolation: "process", whole: false } as const] : [];
    return [{ isolation: "required", whole: true }, ...weaker];
  }
  process.stderr.write("bubblewrap does not work here: the sandbox is tested without its namespaces\n");
  return [{ isolation: "process", whole: true }];
}
