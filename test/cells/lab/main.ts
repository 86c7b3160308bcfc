import { findHaproxy } from "../../../src/dev/haproxy.ts";
import { labOptions, requirePackages } from "../../lab-kit/options.ts";
import { runLab } from "../../lab-kit/run.ts";

const options = labOptions(
  `cell-lab [-- OPTIONS]

Three cells behind HAProxy sell to customers while accounts move between them and whole cells are killed. No
acknowledged call may be lost or charged twice, and customers of other cells must not notice. Needs Debian's
haproxy.`,
  {
    moves: { about: "number of account moves", usual: 200, short: 4, least: 0 },
    kills: { about: "how often a cell is killed, gateway and database", usual: 4, short: 1, least: 0 },
    customers: { about: "concurrent customers of each cell", usual: 6, short: 2 },
  },
);
const haproxy = findHaproxy() ?? "";
requirePackages(haproxy === "" ? ["haproxy"] : []);

export type CellOptions = typeof options;

await runLab(options, async (run) => {
  const { playMoves } = await import("./lab.ts");
  await playMoves(run, options, haproxy);
});
