import { labOptions, requirePackages } from "../lab-kit/options.ts";
import { runLab } from "../lab-kit/run.ts";
import { missingPackages } from "../support/programs.ts";

const options = labOptions(
  `restore-lab [-- OPTIONS]

Restores a database under load with pgBackRest, by the commands of docs/guides/run-at-scale.md: to a moment,
and after the loss of its disk. Needs Debian's pgbackrest and postgresql.`,
  {
    load: { about: "seconds of load before and after the restored moment", usual: 20, short: 2 },
    customers: { about: "concurrent customers", usual: 20, short: 6 },
    kinds: { about: "what is restored", names: ["moment", "disk"], short: ["moment"] },
  },
);
requirePackages(missingPackages("pgbackrest"));

export type RestoreOptions = typeof options;

await runLab(options, async (run) => {
  const { playRestores } = await import("./lab.ts");
  await playRestores(run, options);
});
