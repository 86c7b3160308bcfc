import { setTimeout as sleep } from "node:timers/promises";
import { sealingAudit } from "../../src/postgres/operations/audit.ts";
import { countStolen } from "../bench/machine.ts";
import type { LabRun } from "../lab-kit/run.ts";
import { until } from "../support/until.ts";
import { keep, type SoakResult } from "./keep.ts";
import { SoakLoad, type Answers } from "./load.ts";
import type { SoakOptions } from "./main.ts";
import { look, type Sample } from "./samples.ts";
import { openStage, type Stage } from "./stage.ts";
import { holds, verdict } from "./verdict.ts";

/** Maximum time until resources are released after the last call, ms. */
const SETTLING_MS = 10_000;

/** A sample under load, and what was answered since the last one. */
interface Moment {
  readonly sample: Sample;
  readonly answers: Answers;
}

/** Loads the gateway for a while, and judges what it holds afterwards. */
export async function playSoak(run: LabRun, { short, minutes, share, write }: SoakOptions): Promise<void> {
  const durationMs = short ? 2_000 : minutes * 60_000;
  // The line is fitted to half of the samples; five minutes must suffice.
  const everyMs = short ? 250 : Math.min(60_000, durationMs / 20);
  const stage = await openStage(run, short);
  const load = new SoakLoad(stage);
  const fullLoad = await load.full(short ? 500 : 10_000, run.signal);
  const before = await restingSample(stage);
  load.answered();

  const perSecond = (fullLoad * share) / 100;
  const stolen = await countStolen();
  run.began = performance.now();
  const loading = load.paced(perSecond, durationMs, run.signal);
  const moments = await watch(run, stage, load, { durationMs, everyMs });
  await loading;
  await load.settled();
  const lasted = run.seconds / 60;
  run.signal.throwIfAborted();

  const after = await restingSample(stage, before);
  const { databaseUrl: url } = stage.world;
  const lines = await sealingAudit(url, { url })(run.signal, { whole: true });
  const sum = (figure: (answers: Answers) => number) =>
    moments.reduce((total, { answers }) => total + figure(answers), 0);
  const acts = sum(({ count }) => count);
  const checks = verdict({
    ...{ acts, before, after, during: moments.map(({ sample }) => sample) },
    unexpected: load.unexpected.size,
    turnedAway: sum(({ turnedAway }) => turnedAway),
    violations: lines.filter(({ violations }) => violations > 0n).length,
  });
  const slowestMs = Math.max(...moments.map(({ answers }) => answers.p99Ms ?? 0));
  const result: SoakResult = {
    checks,
    fullLoad,
    perSecond,
    minutes: lasted,
    slowestMs,
    stolen: await stolen?.(),
  };
  run.figures = () => ({
    ...result,
    bytes_per_call: ((after.databaseMb - before.databaseMb) * 1e6) / acts,
    played: Object.fromEntries(load.played),
    unexpected: Object.fromEntries(load.unexpected),
  });
  run.details = () => ({ moments });
  for (const check of checks) if (!holds(check)) run.tally.violated(check.name, check);
  if (write) await keep(result);
}

/** Samples while the load lasts, except for an incomplete last interval. */
async function watch(
  run: LabRun,
  stage: Stage,
  load: SoakLoad,
  { durationMs, everyMs }: { durationMs: number; everyMs: number },
): Promise<Moment[]> {
  const moments: Moment[] = [];
  for (let due = everyMs; due < durationMs && !run.signal.aborted; due += everyMs) {
    await sleep(Math.max(0, due - run.seconds * 1_000), undefined, { signal: run.signal });
    const moment = { sample: await look(stage.subject, run.began), answers: load.answered() };
    moments.push(moment);
    const figures = Object.entries({ ...moment.answers, ...moment.sample });
    run.progress(figures.map(([name, value]) => `${name} ${value?.toFixed(1) ?? "-"}`).join("  "));
  }
  return moments;
}

/** Resources without load: as soon as they are back to the start, at the latest after {@link SETTLING_MS}. */
async function restingSample(stage: Stage, before?: Sample): Promise<Sample> {
  await stage.hangUp();
  const began = performance.now();
  let sample = await look(stage.subject, began);
  const settled = async () => {
    sample = await look(stage.subject, began);
    return before && sample.descriptors <= before.descriptors && sample.resources <= before.resources;
  };
  await until(settled, before ? SETTLING_MS : 1_000).catch(() => {});
  return sample;
}
