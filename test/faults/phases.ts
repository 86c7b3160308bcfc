import { setTimeout as sleep } from "node:timers/promises";
import { auditNow, checkQuiet } from "../lab-kit/checks.ts";
import type { CrashingDatabase } from "../lab-kit/database.ts";
import { LEASE_MS, type Ground } from "../lab-kit/ground.ts";
import type { Load } from "../lab-kit/load.ts";
import type { Market } from "../lab-kit/market.ts";
import type { LabRun } from "../lab-kit/run.ts";
import type { Slot } from "./instance-slot.ts";
import { Plan, type Profile } from "./plan.ts";
import type { Order } from "./points.ts";
import type { RpcEndpoint } from "./rpc-endpoint.ts";

/** Pause between audits under load, ms. */
const AUDIT_MS = 4_000;

/** Minimum responses between two faults, so that slow machines get fewer. */
const WORK = 15;

/** Pause between orders while none strikes, ms. */
const ORDER_MS = 100;

/** Pause between failures of endpoints, ms. */
const OUTAGE_MS = 400;

/** How late nodes are that lag, and for which methods. */
const LAG = { kind: "stale", slots: 40 } as const;
const LAGGING = ["getTransaction", "getSignatureStatuses", "getSignaturesForAddress"];

interface Parts {
  readonly run: LabRun;
  readonly ground: Ground<CrashingDatabase>;
  readonly endpoints: readonly RpcEndpoint[];
  readonly slots: readonly Slot[];
  readonly market: Market;
  readonly load: Load;
}

/** Runs profiles of faults against the load, with checks after each. */
export class Phases {
  readonly #parts: Parts;
  #count = 0;
  /** When the last order struck. */
  #struckAt = 0;
  /** Responses at that time. */
  #struckAfter = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Whether the load is done, or something is broken. */
  get done(): boolean {
    return this.#parts.load.done || this.#parts.run.tally.violations.length > 0;
  }

  struck({ point }: Order): void {
    if (isOfTheLeader(point)) for (const slot of this.#parts.slots) slot.forget(point);
    this.#struckAt = performance.now();
    this.#struckAfter = this.#parts.run.tally.counts.acknowledged;
  }

  /** Waits until every instance serves. */
  async everyInstance(): Promise<void> {
    while (this.#parts.slots.some(({ target }) => target === undefined)) await sleep(20);
  }

  /** Runs the faults of a profile for a while, then stops them and checks. */
  async run(profile: Profile, ms: number): Promise<void> {
    const { run, ground, slots, load } = this.#parts;
    run.tally.profile = profile.name;
    const plan = new Plan(run.dice.fork(`phase ${this.#count++} ${profile.name}`), profile, LEASE_MS);
    if (profile.skew) for (const slot of slots) slot.replace(plan.nextSkew());
    const over = new AbortController();
    const until = AbortSignal.any([over.signal, run.signal]);
    this.#struckAt = performance.now();
    load.begin();
    const faults = Promise.all([
      every(ORDER_MS, until, () => this.#order(plan, profile.strikeMs)),
      profile.crashMs && every(profile.crashMs, until, () => this.#crash()),
      profile.rpc && every(OUTAGE_MS, until, () => this.#failEndpoints(plan, until)),
      // So that forked-out payments are reversed during the load.
      every(ms / 2, until, () => ground.settle()),
      every(AUDIT_MS, until, () => this.#audit(until)),
    ]);
    faults.catch(() => over.abort());
    const end = performance.now() + ms;
    while (performance.now() < end && !this.done && !until.aborted) await sleep(50);
    over.abort();
    await faults;
    await this.#quiet();
  }

  async #quiet(): Promise<void> {
    const { endpoints, slots, load, market } = this.#parts;
    for (const endpoint of endpoints) endpoint.fail(undefined);
    for (const slot of slots) {
      slot.withdraw();
      slot.replace(0);
    }
    await load.drain();
    await this.everyInstance();
    await checkQuiet(market);
  }

  /**
   * Issues the next order of the plan when one is due, to the planned instance or the next live one. Orders
   * at rare points wait there, so that every point is reached in time.
   */
  #order(plan: Plan, strikeMs: number): void {
    const { run, slots } = this.#parts;
    const passedMs = performance.now() - this.#struckAt;
    const worked = run.tally.counts.acknowledged - this.#struckAfter >= WORK;
    if (passedMs < strikeMs || (!worked && passedMs < 5 * strikeMs)) return;
    // One instance must stay alive.
    if (slots.filter(({ live }) => live).length < 2) return;
    for (let turn = 0; turn < 200; turn++) {
      const { slot: planned, ...order } = plan.nextOrder(slots.length);
      if (slots.some(({ orders }) => orders.has(order.point))) continue;
      const chosen = [...slots.slice(planned), ...slots].find(({ live }) => live);
      for (const slot of isOfTheLeader(order.point) ? slots : [chosen]) slot?.order(order);
      return;
    }
  }

  async #crash(): Promise<void> {
    this.#parts.run.tally.count("crashes");
    await this.#parts.ground.database.crash();
  }

  async #failEndpoints(plan: Plan, until: AbortSignal): Promise<void> {
    const { endpoints, ground } = this.#parts;
    const outage = plan.nextOutage();
    for (const index of outage.endpoints) endpoints[index]?.fail(outage.fault);
    if (outage.fault === "stale")
      for (const method of LAGGING) ground.chain.faults.add({ method, fault: LAG });
    await sleep(outage.ms, undefined, { signal: until }).catch(() => {});
    ground.chain.faults.clear();
    for (const endpoint of endpoints) endpoint.fail(undefined);
  }

  async #audit(until: AbortSignal): Promise<void> {
    const since = performance.now();
    // The database may be down; the next audit follows soon.
    await auditNow(this.#parts.market).catch(() => {});
    // Audits of a long run are slow; most time belongs to the calls.
    await sleep(5 * (performance.now() - since), undefined, { signal: until }).catch(() => {});
  }
}

/** Repeats a task sequentially until stopped, and waits for the current run. */
export async function every(ms: number, until: AbortSignal, act: () => Promise<void> | void): Promise<void> {
  while (!until.aborted) {
    await sleep(ms, undefined, { signal: until, ref: false }).catch(() => {});
    if (!until.aborted) await act();
  }
}

/** Whether only the treasury leader passes the point; then all instances get the order. */
function isOfTheLeader(point: string): boolean {
  return point.startsWith("treasury-");
}
