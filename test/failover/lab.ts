import { setTimeout as sleep } from "node:timers/promises";
import { auditNow, findMissing } from "../faults/checks.ts";
import type { Ground } from "../faults/environment.ts";
import { checkEverything } from "../faults/final-checks.ts";
import { instanceSettings, openCast } from "../faults/instance-settings.ts";
import { Load } from "../faults/load.ts";
import { Market } from "../faults/market.ts";
import { Reference } from "../faults/reference.ts";
import type { Dice } from "../faults/seeded-random.ts";
import type { Tally } from "../faults/tally.ts";
import { Instances, type Instance } from "../instances/process.ts";
import type { Cluster } from "./cluster.ts";
import { strike, type Kind } from "./kinds.ts";
import { Probes } from "./probes.ts";

const GATEWAYS = 3;

/** Maximum time until every gateway sells again, ms. */
const RECOVERED_MS = 120_000;

/** Time under load before a failover, ms. */
const CALM_MS = 2_000;

/** How far asynchronous standbys are behind when the primary fails, ms. */
const BEHIND_MS = 1_000;

/** What one failover cost. */
export interface Failover {
  readonly kind: Kind;
  readonly from: string;
  readonly to: string;
  /** The longest time that a gateway sold nothing, ms. */
  readonly recoveryMs: number;
  /** Calls acknowledged so far. */
  readonly acknowledged: number;
  /** Acknowledged calls that the new primary does not know. */
  readonly lost: number;
}

/** Three gateways and their customers on a cluster whose primary fails. */
export class FailoverLab {
  readonly #cluster: Cluster;
  readonly #synchronous: boolean;
  readonly #market: Market;
  readonly #gateways: readonly Instance[];
  readonly #instances: Instances;
  readonly #load: Load;
  readonly #probes: Probes;
  readonly #lost = new Set<string>();

  private constructor(parts: {
    cluster: Cluster;
    synchronous: boolean;
    market: Market;
    gateways: readonly Instance[];
    instances: Instances;
    load: Load;
    probes: Probes;
  }) {
    this.#cluster = parts.cluster;
    this.#synchronous = parts.synchronous;
    this.#market = parts.market;
    this.#gateways = parts.gateways;
    this.#instances = parts.instances;
    this.#load = parts.load;
    this.#probes = parts.probes;
  }

  static async open(
    ground: Ground,
    cluster: Cluster,
    tally: Tally,
    options: { dice: Dice; customers: number; synchronous: boolean },
  ): Promise<FailoverLab> {
    const { dice, customers, synchronous } = options;
    const instances = new Instances();
    const settings = {
      ...instanceSettings(ground, [ground.rpcUrl]),
      DATABASE_URL: cluster.url,
      DATABASE_READ_URL: cluster.standbysUrl,
    };
    const gateways = await Promise.all(Array.from({ length: GATEWAYS }, () => instances.serve(settings)));
    const reference = new Reference();
    const cast = await openCast(ground, reference);
    const [prober] = cast.rich;
    if (!prober) throw new Error("no customer can probe");
    const payTo = ground.chain.tokenAccount(ground.treasury.publicKey);
    const targets = () => gateways.map(({ baseUrl }) => baseUrl);
    const market = new Market({ ground, reference, tally, payTo, targets, keys: "k" });
    const most = Number.POSITIVE_INFINITY;
    const load = new Load(market, cast, { customers, most, dice: dice.fork("load") });
    const probes = new Probes(market, prober, dice.fork("probes"), GATEWAYS);
    const lab = new FailoverLab({ cluster, synchronous, market, gateways, instances, load, probes });
    for (const { ended, log } of gateways) void ended.then((code) => lab.#ended(code, log()));
    return lab;
  }

  begin(): void {
    this.#load.begin();
    this.#probes.start();
  }

  /** Makes the primary fail, waits until every gateway sells again, and repairs it. */
  async failOver(kind: Kind): Promise<Failover> {
    const { tally } = this.#market;
    const primary = await this.#cluster.whole(this.#synchronous);
    await sleep(CALM_MS);
    tally.profile = `${kind} ${primary.name}`;
    if (!this.#synchronous) {
      primary.holdReplication();
      await sleep(BEHIND_MS);
    }
    this.#probes.strike();
    const repair = await strike(kind, this.#cluster, primary);
    const to = await this.#recovered(primary.name);
    const recoveryMs = this.#probes.longestMs;
    await repair();
    primary.mend();
    await this.#cluster.whole(this.#synchronous);
    await this.#market.ground.chain.settle();
    await auditNow(this.#market);
    const lost = await this.#countLost();
    return { kind, from: primary.name, to, recoveryMs, acknowledged: tally.counts.acknowledged, lost };
  }

  /** Ends the load and checks everything. */
  async finish(): Promise<void> {
    this.#market.tally.profile = "the end";
    await Promise.all([this.#load.drain(), this.#probes.stop()]);
    await checkEverything(this.#market, this.#gateways);
  }

  /** The errors in the gateways' logs, the last ones of each. */
  errors(): string[] {
    return this.#gateways.flatMap(({ log }) =>
      log()
        .split("\n")
        .filter((entry) => entry.includes('"msg":"request failed"'))
        .slice(-10),
    );
  }

  async close(): Promise<void> {
    await this.#instances.close();
  }

  /** @returns the name of the new primary */
  async #recovered(old: string): Promise<string> {
    const since = performance.now();
    let promoted: { readonly name: string; readonly at: number } | undefined;
    while (!promoted || !this.#probes.soldSince(promoted.at)) {
      if (performance.now() - since > RECOVERED_MS)
        throw new Error(`no recovery within ${RECOVERED_MS / 1_000} s; the primary is ${promoted?.name}`);
      if (!promoted) {
        const leader = await this.#cluster.leader(old);
        if (leader) promoted = { name: leader.name, at: performance.now() };
      }
      await sleep(50);
    }
    return promoted.name;
  }

  async #countLost(): Promise<number> {
    const before = this.#lost.size;
    const { ground, reference } = this.#market;
    for (const { receiptId = "", customer, call } of await findMissing(ground.rows, reference)) {
      if (this.#lost.has(receiptId)) continue;
      this.#lost.add(receiptId);
      const lost = { account: customer.accountId, key: call.key, tx: call.proof?.tx, receiptId };
      this.#market.tally.violated("what was acknowledged survives a failover", lost);
    }
    return this.#lost.size - before;
  }

  #ended(code: number | null, log: string): void {
    if (code !== null)
      this.#market.tally.violated("no instance ends by itself", { code, log: log.slice(-4_000) });
  }
}
