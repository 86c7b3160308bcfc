import { once } from "node:events";
import process from "node:process";
import { Dice } from "../faults/seeded-random.ts";
import { Tally } from "../faults/tally.ts";
import { stopOnSignals } from "../tooling/signals.ts";
import type { Cluster } from "./cluster.ts";
import type { Kind } from "./kinds.ts";
import type { Failover, FailoverLab } from "./lab.ts";
import { failoverOptions } from "./options.ts";
import { missingPackages } from "../support/programs.ts";
import { jsonReport, line, report } from "./report.ts";

// npm run failover [-- --help]
// The primary of three PostgreSQL servers fails while customers buy. Nothing acknowledged may be lost.

const options = failoverOptions();
const { seed, failovers: most, kinds, customers, synchronous } = options;
const missing = missingPackages();
if (missing.length > 0) {
  process.stderr.write(
    `not installed: ${missing.join(", ")}; as root: apt-get install ${missing.join(" ")}\n`,
  );
  process.exit(1);
}
const stop = stopOnSignals();
const { signal } = stop;
const tally = new Tally();
signal.addEventListener("abort", () => tally.close());
const dice = new Dice(`seed ${seed}`);
const failovers: Failover[] = [];
const began = performance.now();

try {
  // Invalid options end the process before the gateway loads.
  const [{ startGround }, clusters, labs] = await Promise.all([
    import("../faults/environment.ts"),
    import("./cluster.ts"),
    import("./lab.ts"),
  ]);
  const started = Promise.withResolvers<Cluster>();
  const ground = await startGround(signal, async (folder) => {
    const cluster = await clusters.Cluster.start(folder, options);
    started.resolve(cluster);
    return cluster;
  });
  try {
    const cluster = await started.promise;
    const lab = await labs.FailoverLab.open(ground, cluster, tally, { dice, customers, synchronous });
    try {
      await Promise.race([play(lab), stopped()]);
    } finally {
      await lab.close();
    }
  } finally {
    await ground.close();
  }
} catch (error) {
  if (!signal.aborted) throw error;
}
const seconds = (performance.now() - began) / 1_000;
const outcome = { seed, synchronous, seconds, stopped: signal.aborted, failovers };
process.stdout.write(`${(options.json ? jsonReport : report)(tally, outcome)}\n`);
process.exit(stop.exitCode() ?? (tally.violations.length === 0 ? 0 : 1));

async function play(lab: FailoverLab): Promise<void> {
  lab.begin();
  let left: Kind[] = [];
  // Without synchronous standbys violations are what the run shows.
  const goesOn = () => failovers.length < most && (!synchronous || tally.violations.length === 0);
  while (goesOn() && !signal.aborted) {
    if (left.length === 0) left = dice.shuffle(kinds);
    const failover = await lab.failOver(left.pop() ?? "killed");
    failovers.push(failover);
    if (!options.quiet) process.stderr.write(`${line(failover, failovers.length)}\n`);
  }
  await lab.finish();
  if (tally.violations.length > 0) process.stderr.write(`${lab.errors().join("\n")}\n`);
}

/** Ends at the first signal. */
async function stopped(): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}
