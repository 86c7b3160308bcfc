import { accountMethods, tokenMethods } from "./accounts.ts";
import { clusterMethods, sendingMethods } from "./cluster.ts";
import type { Method } from "./params.ts";
import { simulationMethods } from "./simulation.ts";
import { transactionMethods } from "./transactions.ts";

/** Every method of Solana's JSON-RPC API that the local chain answers. */
export const solanaMethods: ReadonlyMap<string, Method> = new Map(
  [
    accountMethods,
    clusterMethods,
    sendingMethods,
    simulationMethods,
    tokenMethods,
    transactionMethods,
  ].flatMap((table) => Object.entries(table)),
);
