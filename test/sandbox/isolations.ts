import { spawnSync } from "node:child_process";
import type { Isolation } from "../../src/sandbox/process/setup.ts";

const BUBBLEWRAP = "bwrap";

/** Whether bubblewrap is there and may make namespaces. */
export function hasBubblewrap(): boolean {
  const { status } = spawnSync(BUBBLEWRAP, ["--unshare-all", "--ro-bind", "/", "/", "true"], {
    stdio: "ignore",
  });
  return status === 0;
}

/** `npm run corpus`: every snippet behind every wall that the machine has. */
export const EVERYTHING = process.env["CORPUS"] === "everything";

/**
 * The isolations to test; `whole` is true of the strongest that works here, in which everything is asked. The other one is asked in
 * `npm run corpus`, and by a run of the tests where bubblewrap is hidden.
 */
export function isolations(): { readonly isolation: Isolation; readonly whole: boolean }[] {
  if (hasBubblewrap()) {
    const weaker = EVERYTHING ? [{ isolation: "process", whole: false } as const] : [];
    return [{ isolation: "required", whole: true }, ...weaker];
  }
  process.stderr.write("bubblewrap does not work here: the sandbox is tested without its namespaces\n");
  return [{ isolation: "process", whole: true }];
}
