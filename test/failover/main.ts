import { labOptions, requirePackages } from "../lab-kit/options.ts";
import { runLab } from "../lab-kit/run.ts";
import { missingPackages } from "../support/programs.ts";

const options = labOptions(
  `failover [-- OPTIONS]

Lets the primary of three PostgreSQL servers fail while customers buy from three gateways. No acknowledged
call may be lost and none charged twice. Needs Debian's patroni, etcd-server, haproxy and postgresql.`,
  {
    failovers: { about: "number of failovers", usual: 20, short: 2 },
    kinds: {
      about: "how the primary fails",
      names: ["killed", "stopped", "cut-off", "isolated", "demoted"],
      short: ["killed", "stopped"],
    },
    customers: { about: "concurrent customers", usual: 20, short: 6 },
    asynchronous: { about: "commits do not wait, and standbys are a second behind: shows what is lost" },
  },
);
requirePackages(missingPackages("patroni", "etcd", "haproxy"));

export type FailoverOptions = typeof options;

await runLab(options, async (run) => {
  const { playFailovers } = await import("./lab.ts");
  await playFailovers(run, options);
});
