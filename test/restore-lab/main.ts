import { once } from "node:events";
import process from "node:process";
import { json } from "../faults/report.ts";
import { Dice } from "../faults/seeded-random.ts";
import { Tally } from "../faults/tally.ts";
import { stopOnSignals } from "../tooling/signals.ts";
import type { Kind, Restored } from "./lab.ts";
import { missingPackages, restoreOptions } from "./options.ts";
import type { ArchivedServer } from "./server.ts";

// npm run restore-lab [-- --help]
// A database is restored from its backup while customers have bought. The ledger has to match the chain.

const { seed, loadMs, customers, short, ...output } = restoreOptions();
const missing = missingPackages();
if (missing.length > 0) {
  process.stderr.write(`not installed: ${missing.join(", ")}; apt-get install ${missing.join(" ")}\n`);
  process.exit(1);
}
const stop = stopOnSignals();
const { signal } = stop;
const tally = new Tally();
signal.addEventListener("abort", () => tally.close());
const restores: Restored[] = [];

try {
  // Invalid options end the process before the gateway loads.
  const [{ startGround }, servers, { RestoreLab }] = await Promise.all([
    import("../faults/environment.ts"),
    import("./server.ts"),
    import("./lab.ts"),
  ]);
  const started = Promise.withResolvers<ArchivedServer>();
  const ground = await startGround(signal, async (folder) => {
    const server = await servers.ArchivedServer.start(folder);
    started.resolve(server);
    return server;
  });
  try {
    const dice = new Dice(`seed ${seed}`);
    const lab = new RestoreLab(ground, await started.promise, tally, { dice, customers });
    const play = async (): Promise<void> => {
      const cast = await lab.open();
      const kinds: readonly Kind[] = short ? ["moment"] : ["moment", "disk"];
      for (const kind of kinds) {
        restores.push(await lab.restore(kind, cast, loadMs));
        if (!output.quiet) process.stderr.write(`${line(restores.at(-1))}\n`);
      }
    };
    const stopped = async () => void (signal.aborted || (await once(signal, "abort")));
    try {
      await Promise.race([play(), stopped()]);
    } finally {
      await lab.close();
    }
  } finally {
    await ground.close();
  }
} catch (error) {
  if (!signal.aborted) throw error;
}
const { counts, violations } = tally;
if (output.json) process.stdout.write(`${json({ seed, restores, counts, violations })}\n`);
else process.stdout.write(`${text()}\n`);
process.exit(stop.exitCode() ?? (violations.length === 0 ? 0 : 1));

function line(restored: Restored | undefined): string {
  if (!restored) return "";
  const { kind, rpoMs, rtoMs, recoveredMs, acknowledged, gone, recorded } = restored;
  return [
    kind.padEnd(6),
    `RPO ${(rpoMs / 1_000).toFixed(2)} s`,
    `RTO ${(rtoMs / 1_000).toFixed(1)} s (PostgreSQL ${(recoveredMs / 1_000).toFixed(1)} s)`,
    `acknowledged ${acknowledged}, gone ${gone}`,
    `transfers recorded from the chain ${recorded}`,
  ].join("  ");
}

function text(): string {
  const verdict =
    violations.length === 0 ? "NO GUARANTEE BROKEN" : `${violations.length} VIOLATIONS\n${json(violations)}`;
  const { payments, replays, audits } = counts;
  const figures = `seed ${seed}: payments ${payments}, replays ${replays}, audits ${audits}`;
  return [...restores.map(line), figures, verdict].join("\n");
}
