import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { countStolen } from "../bench/machine.ts";
import { stopOnSignals } from "../tooling/signals.ts";
import { auditDatabase } from "../../src/postgres/operations/audit-database.ts";
import { keep } from "./keep.ts";
import { SoakLoad } from "./load.ts";
import { soakOptions } from "./options.ts";
import { head, report, row, type Moment, type SoakResult } from "./report.ts";
import { look, type Sample } from "./samples.ts";
import { openStage, type Stage } from "./stage.ts";
import { holds, verdict } from "./verdict.ts";

// npm run soak [-- --help]
// Loads the gateway with typical calls for an hour: nothing may grow, stay open or return an unexpected
// result.

/** Maximum time until resources are released after the last call, ms. */
const SETTLING_MS = 10_000;

const options = soakOptions();
const stop = stopOnSignals();
const { signal } = stop;

const result = await soak();
if (result) {
  if (options.write) await keep(result);
  process.stdout.write(`${options.json ? JSON.stringify(result) : report(result)}\n`);
}
process.exit(stop.exitCode() ?? (result?.checks.every(holds) ? 0 : 1));

/** Undefined when it was stopped. */
async function soak(): Promise<SoakResult | undefined> {
  const stage = await openStage(options);
  try {
    return await play(stage);
  } catch (error) {
    if (!signal.aborted) throw error;
    return undefined;
  } finally {
    await stage.close();
  }
}

async function play(stage: Stage): Promise<SoakResult | undefined> {
  const load = new SoakLoad(stage);
  const fullLoad = await load.full(options.calibrationMs, signal);
  const before = await restingSample(stage);
  load.answered();

  const perSecond = fullLoad * options.share;
  const stolen = await countStolen();
  const began = performance.now();
  const loading = load.paced(perSecond, options.durationMs, signal);
  const moments = await watch(stage, load, began);
  await loading;
  await load.settled();
  const minutes = (performance.now() - began) / 60_000;
  if (signal.aborted) return undefined;

  const after = await restingSample(stage, before);
  const lines = await auditDatabase(stage.world.databaseUrl, signal);
  const unexpected = Object.fromEntries(load.unexpected);
  const acts = moments.reduce((sum, { answers }) => sum + answers.answers, 0);
  return {
    ...{ fullLoad, load: perSecond, minutes, moments, unexpected, stolen: await stolen?.() },
    bytesPerAct: ((after.databaseMb - before.databaseMb) * 1e6) / acts,
    played: Object.fromEntries(load.played),
    checks: verdict({
      ...{ acts, before, after, during: moments.map(({ sample }) => sample) },
      unexpected: [...load.unexpected.values()].reduce((sum, { count }) => sum + count, 0),
      turnedAway: moments.reduce((sum, { answers }) => sum + answers.turnedAway, 0),
      violations: lines.filter(({ violations }) => violations > 0n).length,
    }),
  };
}

/** Samples while the load lasts, except for an incomplete last interval. */
async function watch(stage: Stage, load: SoakLoad, began: number): Promise<Moment[]> {
  const moments: Moment[] = [];
  process.stderr.write(`${head()}\n`);
  for (let due = options.everyMs; due < options.durationMs && !signal.aborted; due += options.everyMs) {
    const since = moments.at(-1)?.sample.seconds ?? 0;
    await sleep(Math.max(0, began + due - performance.now()), undefined, { signal });
    const sample = await look(stage.subject, began);
    const answers = load.answered();
    const moment = { sample, answers, perSecond: answers.answers / (sample.seconds - since) };
    moments.push(moment);
    process.stderr.write(`${row(moment)}\n`);
  }
  return moments;
}

/** Resources without load: as soon as they are back to the start, at the latest after {@link SETTLING_MS}. */
async function restingSample(stage: Stage, before?: Sample): Promise<Sample> {
  await stage.hangUp();
  const began = performance.now();
  for (;;) {
    await sleep(500, undefined, { signal });
    const sample = await look(stage.subject, began);
    const settled =
      before && sample.descriptors <= before.descriptors && sample.resources <= before.resources;
    if (settled || performance.now() - began > (before ? SETTLING_MS : 1_000)) return sample;
  }
}
