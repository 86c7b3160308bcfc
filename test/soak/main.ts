import { labOptions } from "../lab-kit/options.ts";
import { runLab } from "../lab-kit/run.ts";

const options = labOptions(
  `soak [-- OPTIONS]

Loads the gateway with typical calls: nothing may grow, stay open or return an unexpected result, and the
ledger must be right.`,
  {
    minutes: { about: "how long the load lasts; seconds in the short form", usual: 60 },
    share: { about: "load, in hundredths of what was reached at full load", usual: 70, most: 100 },
    write: { about: "keeps the figures in docs/explanation/performance.json" },
  },
);

export type SoakOptions = typeof options;

await runLab(options, async (run) => {
  const { playSoak } = await import("./lab.ts");
  await playSoak(run, options);
});
