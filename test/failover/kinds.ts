import type { Cluster } from "./cluster.ts";
import type { Node } from "./node.ts";

/** How a primary fails. */
export const KINDS = ["killed", "stopped", "cut-off", "isolated", "demoted"] as const;

export type Kind = (typeof KINDS)[number];

/**
 * Makes the primary fail.
 * @returns how to repair it
 */
export async function strike(
  kind: Kind,
  cluster: Cluster,
  primary: Node,
): Promise<() => Promise<void> | void> {
  switch (kind) {
    case "killed":
      await primary.kill();
      return () => primary.start();
    case "stopped":
      await primary.stall();
      return () => primary.resume();
    case "cut-off":
    case "isolated":
      // Isolated: from etcd and the standbys only; the gateways still reach it.
      primary.cutOff(kind === "cut-off");
      return () => primary.mend();
    case "demoted":
      await cluster.demote(primary);
      return () => {};
  }
}
