import type { Instance } from "../instances/process.ts";
import {
  auditNow,
  checkCharges,
  checkDurable,
  checkNothingOpen,
  checkReplays,
  explainViolations,
} from "./checks.ts";
import type { Market } from "./market.ts";
import { checkMoney, checkTreasury } from "./money-checks.ts";

/** Checks all that must hold when the load has ended: books, calls, their repeats, the treasury. */
export async function checkEverything(
  market: Market,
  gateways: readonly Pick<Instance, "baseUrl" | "log">[],
): Promise<void> {
  await market.ground.chain.settle();
  for (const check of [checkNothingOpen, auditNow, checkMoney, checkCharges, checkDurable])
    await check(market);
  await checkReplays(
    market,
    gateways.map(({ baseUrl }) => baseUrl),
  );
  await checkTreasury(market, () => gateways.map(({ log }) => log().slice(-4_000)));
  await auditNow(market);
  await explainViolations(market);
}
