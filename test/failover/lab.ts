import { setTimeout as sleep } from "node:timers/promises";
import { auditNow, checkEverything, findMissing, saleOf } from "../lab-kit/checks.ts";
import { Gateways } from "../lab-kit/gateways.ts";
import { openGround } from "../lab-kit/ground.ts";
import { Load } from "../lab-kit/load.ts";
import { Market } from "../lab-kit/market.ts";
import type { LabRun } from "../lab-kit/run.ts";
import { until } from "../support/until.ts";
import { Cluster } from "./cluster.ts";
import type { FailoverOptions } from "./main.ts";
import type { Node } from "./node.ts";
import { Probes } from "./probes.ts";

const GATEWAYS = 3;

/** Maximum time until every gateway sells again, ms. */
const RECOVERED_MS = 120_000;

/** Time under load before a failover, ms. */
const CALM_MS = 2_000;

/** How far asynchronous standbys are behind when the primary fails, ms. */
const BEHIND_MS = 1_000;

type Kind = FailoverOptions["kinds"][number];

/** What one failover cost. */
interface Failover {
  readonly kind: Kind;
  readonly from: string;
  readonly to: string;
  /** The longest time that a gateway sold nothing, ms. */
  readonly recovery_ms: number;
  /** Calls acknowledged so far. */
  readonly acknowledged: number;
  /** Acknowledged calls that the new primary does not know. */
  readonly lost: number;
}

/** Three gateways and their customers on a cluster whose primary fails. */
export async function playFailovers(run: LabRun, options: FailoverOptions): Promise<void> {
  const { tally, dice } = run;
  const synchronous = !options.asynchronous;
  const failovers: Failover[] = [];
  run.figures = () => ({ standbys: synchronous ? "synchronous" : "asynchronous", failovers });
  const ground = await openGround(run, (folder) => Cluster.start(folder, synchronous, options.short));
  const cluster = ground.database;
  const gateways = await run.open(
    async () => new Gateways({ ...ground.settings, DATABASE_READ_URL: cluster.standbysUrl }, tally),
    (opened) => opened.kill(),
  );
  await gateways.serve(GATEWAYS);
  run.details = () => ({ logs: tally.violations.length > 0 ? gateways.logs : [] });
  const market = await Market.open(ground, { tally, targets: () => gateways.targets });
  const load = new Load(market, { customers: options.customers, dice: dice.fork("load") });
  const probes = new Probes(market.any("rich", dice.fork("probes")), GATEWAYS);
  const lost = new Set<string | undefined>();
  load.begin();
  probes.start();
  let left: Kind[] = [];
  // Without synchronous standbys violations are what the run shows.
  const goesOn = () => !synchronous || tally.violations.length === 0;
  while (failovers.length < options.failovers && goesOn()) {
    if (left.length === 0) left = dice.shuffle(options.kinds);
    const failover = await failOver(left.pop() ?? "killed");
    failovers.push(failover);
    run.progress(`${failovers.length} ${Object.values(failover).join("  ")}`);
  }
  tally.profile = "the end";
  await Promise.all([load.drain(), probes.stop()]);
  await checkEverything(market, () => gateways.logs);

  /** Makes the primary fail, waits until every gateway sells again, and repairs it. */
  async function failOver(kind: Kind): Promise<Failover> {
    const primary = await cluster.whole();
    await sleep(CALM_MS);
    tally.profile = `${kind} ${primary.name}`;
    if (!synchronous) {
      primary.holdReplication();
      await sleep(BEHIND_MS);
    }
    probes.strike();
    const repair = await strike(kind, cluster, primary);
    const to = await recovered(primary.name);
    const recovery_ms = Math.round(probes.longestMs);
    await repair();
    primary.mend();
    await cluster.whole();
    ground.settle();
    await auditNow(market);
    const known = lost.size;
    for (const sale of await findMissing(ground.rows, market.reference)) {
      if (!lost.has(sale.receiptId))
        tally.violated("what was acknowledged survives a failover", saleOf(sale));
      lost.add(sale.receiptId);
    }
    const { acknowledged } = tally.counts;
    return { kind, from: primary.name, to, recovery_ms, acknowledged, lost: lost.size - known };
  }

  /** Waits until all gateways sell on a new primary. @returns its name */
  async function recovered(old: string): Promise<string> {
    const { name } = await until(() => cluster.leader(old), RECOVERED_MS);
    const since = performance.now();
    await until(() => probes.soldSince(since), RECOVERED_MS).catch(() => {
      throw new Error(`no recovery within ${RECOVERED_MS / 1_000} s; the primary is ${name}`);
    });
    return name;
  }
}

/**
 * Makes the primary fail.
 * @returns how to repair it
 */
async function strike(kind: Kind, cluster: Cluster, primary: Node): Promise<() => Promise<void> | void> {
  switch (kind) {
    case "killed":
      await primary.kill();
      return () => primary.start();
    case "stopped":
      await primary.signal("SIGSTOP");
      return () => primary.resume();
    case "cut-off":
    case "isolated":
      // Isolated: from etcd and the standbys only; the gateways still reach it.
      primary.cutOff(kind === "cut-off");
      return () => primary.mend();
    case "demoted":
      await cluster.demote(primary);
      return () => {};
  }
}
