import { setTimeout as sleep } from "node:timers/promises";
import { Catalogue } from "../../src/app/calls/catalogue.ts";
import type { CallToolDeps } from "../../src/app/calls/call-tool.ts";
import type { RunEnd } from "../../src/app/calls/ledger.ts";
import type { PortCall, PortPoint } from "./points.ts";

/** What happens at a point. @throws Error where the tool is to fail */
export type Strike = (point: PortPoint) => Promise<void> | void;

/** What the lab wants to know of an instance besides. */
export interface Watch {
  readonly strike: Strike;
  /** How long the tool works at least, ms. */
  readonly workMs: () => number;
  /** A finish found its run released: the fence held. */
  readonly onLost: () => void;
}

/** Puts a fault point before and after everything that a call awaits. */
export function around(deps: CallToolDeps, { strike, workMs, onLost }: Watch): CallToolDeps {
  const at = async <Result>(call: PortCall, run: () => Promise<Result>): Promise<Result> => {
    await strike(`${call}:before`);
    const result = await run();
    await strike(`${call}:after`);
    return result;
  };
  const { ledger, chain, catalogue, unpaidWork } = deps;
  return {
    ...deps,
    ledger: {
      findPrior: (query) => at("ledger.prior", () => ledger.findPrior(query)),
      authorize: (call) => at("ledger.begin", () => ledger.authorize(call)),
      finish: async (call: RunEnd) => {
        const finished = await at(`ledger.finish/${call.outcome}`, () => ledger.finish(call));
        if (finished.kind === "lost") onLost();
        return finished;
      },
      credit: (accountId, deposit) => at("ledger.credit", () => ledger.credit(accountId, deposit)),
      balance: (accountId) => at("ledger.balance", () => ledger.balance(accountId)),
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
