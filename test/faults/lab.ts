import { setTimeout as sleep } from "node:timers/promises";
import { checkEverything, explainViolations } from "../lab-kit/checks.ts";
import { startDatabase } from "../lab-kit/database.ts";
import { openGround, type Ask } from "../lab-kit/ground.ts";
import { Load } from "../lab-kit/load.ts";
import { Market } from "../lab-kit/market.ts";
import { textOf } from "../lab-kit/report.ts";
import type { LabRun } from "../lab-kit/run.ts";
import { Slot } from "./instance-slot.ts";
import type { FaultOptions } from "./main.ts";
import { every, Phases } from "./phases.ts";
import { PROFILES } from "./plan.ts";
import { Strikes } from "./points.ts";
import { Spares } from "./process-pool.ts";
import { openRpcEndpoint } from "./rpc-endpoint.ts";

const INSTANCES = 3;

/** Part of the customers' patience. An instance that is down for longer has another problem. */
const STUCK = 0.75;

/** Opens three instances and their customers, and runs the profiles in turn. */
export async function playFaults(run: LabRun, options: FaultOptions): Promise<void> {
  const { tally, dice, signal } = run;
  const ground = await openGround(run, startDatabase);
  const strikes = new Strikes();
  run.figures = () => ({
    profiles: options.profile,
    faults: Object.fromEntries(strikes.actions),
    points_struck: `${strikes.points.size} of ${strikes.points.size + strikes.never.length}`,
  });
  run.details = () => ({ strikes: Object.fromEntries(strikes.points), never_struck: strikes.never });
  if (options.mutant) await removeFence(ground.rows);
  const endpoints = await Promise.all(
    [0, 1].map(() =>
      run.open(
        () => openRpcEndpoint(ground.chain.url, () => tally.count("rpc")),
        (endpoint) => endpoint.close(),
      ),
    ),
  );
  const settings = { ...ground.settings, SOLANA_RPC_URLS: endpoints.map(({ url }) => url).join(",") };
  const spares = await run.open(
    () => Spares.open(settings, ground.folder),
    (opened) => opened.close(),
  );
  const slots = await Promise.all(
    Array.from({ length: INSTANCES }, (_, index) =>
      run.open(
        () =>
          Slot.open({
            ...{ seed: `${dice.next()}/${index}`, databaseUrl: ground.database.url, spares },
            onStruck(order) {
              strikes.count(order);
              phases.struck(order);
            },
            onLost: () => tally.count("fenced"),
            onRestart: () => tally.count("restarts"),
            onCrash: (details) => tally.violated("no instance ends by itself", details),
          }),
        (slot) => slot.close(),
      ),
    ),
  );
  const patienceMs = options.patience * 1_000;
  const market = await Market.open(ground, {
    tally,
    patienceMs,
    targets: () => slots.map(({ target }) => target),
  });
  const load = new Load(market, {
    customers: options.customers,
    most: options.calls,
    dice: dice.fork("load"),
  });
  const phases = new Phases({ run, ground, endpoints, slots, market, load });
  await Promise.race([playAll(), requireInstances(slots, patienceMs * STUCK)]);

  async function playAll(): Promise<void> {
    await phases.everyInstance();
    run.began = performance.now();
    void every(3_000, signal, () =>
      run.progress(`${tally.profile.padEnd(16)}  ${textOf(Object.fromEntries(strikes.actions))}`),
    );
    const { duration, calls } = options;
    const durationMs = Math.min(duration, Number.isFinite(calls) ? duration : 60) * 1_000;
    const profiles = PROFILES.filter(({ name }) => options.profile.includes(name));
    const phaseMs = Math.min(options.phase * 1_000, durationMs / profiles.length);
    // Runs every profile, even when time is short.
    const goesOn = (index: number) => index < profiles.length || run.seconds * 1_000 < durationMs;
    for (let index = 0; goesOn(index) && !phases.done && !signal.aborted; index++) {
      const profile = profiles[index % profiles.length];
      if (profile) await phases.run(profile, phaseMs);
    }
    tally.profile = "the end";
    if (tally.violations.length === 0) await checkEverything(market, () => slots.map(({ log }) => log));
    else await explainViolations(market);
  }
}

/** @throws Error when an instance stays down too long to judge anything */
async function requireInstances(slots: readonly Slot[], mostMs: number): Promise<void> {
  for (;;) {
    const down = slots.find(({ downMs }) => downMs > mostMs);
    if (down)
      throw new Error(
        `an instance has not come up for ${mostMs / 1_000} s; the last of its log:\n${down.log}`,
      );
    await sleep(1_000);
  }
}

/** Breaks a guarantee, which the lab has to find: a run that was released is captured all the same. */
async function removeFence(rows: Ask): Promise<void> {
  const [fence, none] = ["and status || '' = 'active' and owner = instance", ""];
  const [row] = await rows<{ source: string }>(
    "select pg_get_functiondef('ledger_capture'::regproc) as source",
  );
  if (!row?.source.includes(fence)) throw new Error(`ledger_capture does not say "${fence}" any more`);
  await rows(row.source.replace(fence, none));
}
