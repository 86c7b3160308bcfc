import { spawnSync } from "node:child_process";
import type { Isolation } from "../../src/sandbox/process/setup.ts";

const BUBBLEWRAP = "bwrap";

/** Whether bubblewrap is there and may make namespaces. */
export function hasBubblewrap(): boolean {
  const { status } = spawnSync(BUBBLEWRAP, ["--unshare-all", "--ro-bind", "/", "/", "true"], { stdio: "ignore" });
  return status === 0;
}

/** The isolations that work here; `whole` is true of the strongest, in which everything is asked. */
export function isolations(): { readonly isolation: Isolation; readonly whole: boolean }[] {
  if (hasBubblewrap()) {
    return [
      { isolation: "required", whole: true },
      { isolation: "process", whole: false },
    ];
  }
  process.stderr.write("bubblewrap does not work here: the sandbox is tested without its namespaces\n");
  return [{ isolation: "process", whole: true }];
}
