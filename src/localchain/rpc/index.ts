import { accountMethods } from "./accounts.ts";
import { clusterMethods } from "./cluster.ts";
import type { Method } from "./method.ts";
import { sendingMethods } from "./sending.ts";
import { simulationMethods } from "./simulation.ts";
import { tokenMethods } from "./tokens.ts";
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
