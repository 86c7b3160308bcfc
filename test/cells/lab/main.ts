import process from "node:process";
import { findHaproxy } from "../../../src/dev/haproxy.ts";
import { Dice } from "../../faults/seeded-random.ts";
import { stopOnSignals } from "../../tooling/signals.ts";
import { CellLab } from "./lab.ts";
import { labOptions } from "./options.ts";
import { reportOf, reportText } from "./report.ts";

// npm run cell-lab [-- --help]
// Accounts move and whole cells are killed while customers buy. Others must not notice, and no call be lost.

const { seed, moves, kills, customers, json, quiet } = labOptions();
const haproxy = findHaproxy();
if (haproxy === undefined) {
  process.stderr.write("not installed: haproxy; as root: apt-get install haproxy\n");
  process.exit(1);
}
const stop = stopOnSignals();
const began = performance.now();
const lab = new CellLab(new Dice(`seed ${seed}`));
const progress = (line: string) => {
  if (!quiet)
    process.stderr.write(`${((performance.now() - began) / 1_000).toFixed(0).padStart(4)} s  ${line}\n`);
};
try {
  await lab.open(haproxy, customers);
  progress("three cells sell");
  await lab.calm();
  await lab.misroute();
  const rounds = Math.max(1, kills);
  for (let round = 0; round < rounds && !stop.signal.aborted; round++) {
    await lab.move(Math.floor((moves * (round + 1)) / rounds) - Math.floor((moves * round) / rounds));
    progress(`${lab.moved} accounts moved`);
    if (round < kills) await lab.kill();
    if (round < kills) progress("a cell was killed and came back");
  }
  await lab.finish();
} finally {
  await lab.close();
}
const report = reportOf(lab, { seed, seconds: Math.round((performance.now() - began) / 1_000) });
process.stdout.write(`${json ? JSON.stringify(report, null, 2) : reportText(report)}\n`);
process.exit(
  stop.exitCode() ?? (report.broken.length === 0 && Object.keys(report.noticed).length === 0 ? 0 : 1),
);
