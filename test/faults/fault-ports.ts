import { setTimeout as sleep } from "node:timers/promises";
import { Catalogue } from "../../src/app/calls/catalogue.ts";
import type { CallPorts } from "../../src/gateway/call-tool-deps.ts";
import type { PortCall, PortPoint } from "./points.ts";

/**
 * Called at a fault point.
 * @throws Error when the tool must fail
 */
export type Strike = (point: PortPoint) => Promise<void> | void;

/** Hooks of the fault run. */
export interface Watch {
  readonly strike: Strike;
  /** Minimum duration of the tool, ms. */
  readonly workMs: () => number;
  /** Called when a run's end arrives after its release: the fence refused it. */
  readonly onLost: () => void;
}

/** Adds a fault point before and after every port call of a tool call. */
export function around(ports: CallPorts, { strike, workMs, onLost }: Watch): CallPorts {
  const at = async <Result>(call: PortCall, run: () => Promise<Result>): Promise<Result> => {
    await strike(`${call}:before`);
    const result = await run();
    await strike(`${call}:after`);
    return result;
  };
  const { ledger, chain, catalogue, unpaidWork } = ports;
  return {
    ...ports,
    ledger: {
      findPrior: (query) => at("ledger.findPrior", () => ledger.findPrior(query)),
      authorize: (call) => at("ledger.authorize", () => ledger.authorize(call)),
      capture: async (run) => {
        const ended = await at("ledger.capture", () => ledger.capture(run));
        if (ended.kind === "lost") onLost();
        return ended;
      },
      release: async (run) => {
        const ended = await at(`ledger.release/${run.outcome}`, () => ledger.release(run));
        if (ended.kind === "lost") onLost();
        return ended;
      },
      credit: (accountId, deposit) => at("ledger.credit", () => ledger.credit(accountId, deposit)),
      balance: (accountId) => at("ledger.balance", () => ledger.balance(accountId)),
      // Not part of a call.
      spentToday: (budgetId) => ledger.spentToday(budgetId),
    },
    unpaidWork: {
      requireAllowance: (accountId, tool) => unpaidWork.requireAllowance(accountId, tool),
      charged: (accountId, tool) => unpaidWork.charged(accountId, tool),
      failed: (accountId, tool) => at("unpaidWork.failed", () => unpaidWork.failed(accountId, tool)),
    },
    chain: { verify: (query) => at("chain.verify", () => chain.verify(query)) },
    catalogue: new Catalogue(
      catalogue.tools.map((tool) => ({
        ...tool,
        prepare: (params) => {
          const prepared = tool.prepare(params);
          const run: typeof prepared.run = (context) =>
            at("tool.run", async () => {
              await sleep(workMs());
              return prepared.run(context);
            });
          return { price: prepared.price, run };
        },
      })),
    ),
  };
}
