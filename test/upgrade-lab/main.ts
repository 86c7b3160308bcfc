import { readSqlSchema } from "../../src/postgres/database/sql-files.ts";
import { labOptions } from "../lab-kit/options.ts";
import { runLab } from "../lab-kit/run.ts";

const schemas = readSqlSchema().frozen.map(({ name }) => name);

const options = labOptions(
  `upgrade-lab [-- OPTIONS]

Upgrades a database of each frozen schema while customers buy from two versions of the program side by side.
No acknowledged call may be lost and none charged twice.`,
  {
    schemas: { about: "schemas that databases start with", names: schemas, short: schemas.slice(0, 1) },
    upgrades: { about: "from the version before (by git), to a made-up next one", names: ["before", "next"] },
    load: { about: "seconds of load before, during and after", usual: 10, short: 2 },
    customers: { about: "concurrent customers", usual: 12, short: 4 },
  },
);

export type UpgradeOptions = typeof options;

await runLab(options, async (run) => {
  const { playUpgrades } = await import("./lab.ts");
  await playUpgrades(run, options);
});
