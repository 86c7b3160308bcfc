import type { Bench } from "./bench.ts";
import { batchesSince, mark } from "./cost-database.ts";
import { checkLedger, callAllWithSameKey } from "./instances-check.ts";
import { Fleet } from "./instances-fleet.ts";
import { instanceLines } from "./instances-lines.ts";
import { predictionLines } from "./instances-prediction.ts";
import { cellScenariosOf, scenariosOf, type Measured, type Scenario } from "./instances-scenarios.ts";
import { countStolen } from "./machine.ts";
import type { Line } from "./report.ts";

/** Starting balance of every account, USDC: more than any run spends. */
const USDC = 1_000_000;
const MICRO = 1_000_000n;
/** Price of {@link PAID_CALL}, micro-USD. */
const PRICE = 1_000n;
/** The most cells that are measured. */
const CELLS = 3;
/** Rounds with one key at all instances concurrently. */
const SAME_KEY = 20;

/**
 * Measures several instances on one database and checks the prediction from a single instance.
 * All share the cores, so more instances cannot be faster; they must not slow each other.
 */
export async function instances(bench: Bench): Promise<Line[]> {
  const { world, scale, signal } = bench;
  const url = await world.createDatabase("instances");
  const keys = await world.createAccounts(scale.accounts, String(USDC), url);
  const fleet = await Fleet.start(bench, Array(Math.max(...scale.instances)).fill(url));
  const scenarios = scenariosOf(keys, scale);
  const measured = await measureAll(bench, fleet, scenarios, url);

  await callAllWithSameKey(fleet.gateways, keys[0] ?? "", SAME_KEY);
  const charged = measured.reduce((total, { charged: calls }) => total + calls, SAME_KEY);
  const startingBalance = BigInt(USDC) * MICRO;
  await checkLedger({ url, startingBalance, accounts: keys.length, price: PRICE }, charged, signal);
  return [...instanceLines(measured), ...(await predictionLines(measured, url))];
}

/**
 * Measures one, two and three cells of one gateway and one database each, and checks the prediction from one
 * cell. All share the cores and PostgreSQL's log: more cells cannot be faster, but must not slow each other.
 */
export async function cells(bench: Bench): Promise<Line[]> {
  const { world, scale } = bench;
  const first = await world.createDatabase("cell_1");
  const keys = await world.createAccounts(scale.accounts, String(USDC), first);
  const urls = [first];
  // Copies, so that the same keys work in each.
  for (let cell = 2; cell <= CELLS; cell++) urls.push(await world.createDatabase(`cell_${cell}`, "cell_1"));
  const fleet = await Fleet.start(bench, urls);
  const measured = await measureAll(bench, fleet, cellScenariosOf(keys, CELLS), first);
  return [...instanceLines(measured), ...(await predictionLines(measured, first))];
}

/**
 * Round after round, forwards and backwards in turn, so that whatever else the machine does hits all alike.
 */
async function measureAll(
  { plan, signal }: Bench,
  fleet: Fleet,
  scenarios: readonly Scenario[],
  url: string,
): Promise<Measured[]> {
  const measured = scenarios.map((scenario): Measured => ({
    scenario,
    rates: [],
    batches: [],
    stolen: [],
    charged: 0,
  }));
  for (let round = -1; round < plan.rounds; round++) {
    for (const each of round % 2 === 0 ? measured : measured.toReversed()) {
      signal.throwIfAborted();
      // A process that has just started compiles while it works: the first time does not count.
      if (round < 0 && each.scenario.instances < fleet.gateways.length) continue;
      const [since, stolen] = [await mark(url), await countStolen()];
      const { rate, answered } = await fleet.measure(each.scenario);
      if (each.scenario.paid) each.charged += answered;
      if (round < 0) continue;
      each.rates.push(rate);
      const share = await stolen?.();
      if (share !== undefined) each.stolen.push(share);
      each.batches.push((await batchesSince(url, since)).batch);
    }
  }
  return measured;
}
