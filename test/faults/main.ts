import { labOptions } from "../lab-kit/options.ts";
import { runLab } from "../lab-kit/run.ts";
import { PROFILES } from "./plan.ts";

const NO_LIMIT = Number.POSITIVE_INFINITY;

const options = labOptions(
  `faults [-- OPTIONS]

Kills, stalls and cuts off three instances on one ledger while customers buy; every guarantee must hold.
The same seed makes the same plan of faults and the same customers; their timing differs between runs.`,
  {
    duration: {
      about: "seconds, longer if every profile takes it (default: 60; no limit with --calls)",
      ...{ usual: NO_LIMIT, short: 7, least: 0 },
    },
    calls: { about: "ends after that many scenarios", usual: NO_LIMIT },
    profile: { about: "kinds of faults", names: PROFILES.map(({ name }) => name) },
    phase: { about: "maximum seconds between two quiet points", usual: 20, short: 1 },
    customers: { about: "concurrent customers", usual: 40, short: 6 },
    patience: {
      about: "maximum seconds until a call is decided and an instance is up; more on a busy machine",
      usual: 120,
    },
    mutant: { about: "breaks a guarantee of the ledger, which must be found" },
  },
);

export type FaultOptions = typeof options;

await runLab(options, async (run) => {
  const { playFaults } = await import("./lab.ts");
  await playFaults(run, options);
});
