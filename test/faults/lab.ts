import { setTimeout as sleep } from "node:timers/promises";
import { RpcEndpoint } from "./rpc-endpoint.ts";
import {
  auditNow,
  checkDurable,
  checkNothingOpen,
  checkCharges,
  checkReplays,
  explainViolations,
} from "./checks.ts";
import type { Dice } from "./seeded-random.ts";
import type { Ground } from "./environment.ts";
import { instanceSettings, LEASE_MS, openCast } from "./instance-settings.ts";
import { Load } from "./load.ts";
import { Market } from "./market.ts";
import { checkMoney, checkTreasury } from "./money-checks.ts";
import { Plan } from "./plan.ts";
import { isLinePoint, type LinePoint, type Point } from "./points.ts";
import type { Profile } from "./profiles.ts";
import { Reference } from "./reference.ts";
import { Slot } from "./instance-slot.ts";
import { Spares } from "./process-pool.ts";
import type { Tally } from "./tally.ts";

const INSTANCES = 3;

/** Part of the customers' patience. An instance that is down for longer has another problem. */
const STUCK = 0.75;

/** Pause between audits under load, ms. */
const AUDIT_MS = 4_000;

/** Minimum responses between two faults, so that slow machines get fewer. */
const WORK = 15;

/** Pause between orders while none strikes, ms. */
const ORDER_MS = 100;

/** Size of the load. */
export interface Scale {
  /** Concurrent customers. */
  readonly customers: number;
  /** Scenarios of the whole run. */
  readonly calls: number;
  readonly patienceMs: number;
}

/** Runs three instances, their customers and the faults. */
export class Lab {
  readonly #ground: Ground;
  readonly #tally: Tally;
  readonly #dice: Dice;
  readonly #endpoints: readonly RpcEndpoint[];
  readonly #spares: Spares;
  readonly #slots: readonly Slot[];
  readonly #market: Market;
  readonly #load: Load;
  readonly #stuckMs: number;
  #phase = 0;
  /** When the last order struck. */
  #struckAt = 0;
  /** Responses at that time. */
  #struckAfter = 0;

  private constructor(parts: {
    ground: Ground;
    tally: Tally;
    dice: Dice;
    endpoints: readonly RpcEndpoint[];
    spares: Spares;
    slots: readonly Slot[];
    market: Market;
    load: Load;
    stuckMs: number;
  }) {
    this.#ground = parts.ground;
    this.#tally = parts.tally;
    this.#dice = parts.dice;
    this.#endpoints = parts.endpoints;
    this.#spares = parts.spares;
    this.#slots = parts.slots;
    this.#market = parts.market;
    this.#load = parts.load;
    this.#stuckMs = parts.stuckMs;
  }

  static async open(ground: Ground, tally: Tally, dice: Dice, scale: Scale): Promise<Lab> {
    const endpoints = await Promise.all(
      [0, 1].map(() => RpcEndpoint.open(ground.rpcUrl, () => tally.count("rpc"))),
    );
    const spares = new Spares(
      instanceSettings(
        ground,
        endpoints.map(({ url }) => url),
      ),
      ground.sources,
      ground.scratch,
    );
    const slots = await Promise.all(
      Array.from({ length: INSTANCES }, (_, index) =>
        Slot.open({
          seed: `${dice.next()}/${index}`,
          databaseUrl: ground.databaseUrl,
          spares,
          events: {
            onStruck: (order) => {
              tally.struck(order);
              if (isOfTheLeader(order.point)) for (const slot of lab.#slots) slot.forget(order.point);
              lab.#struckAt = performance.now();
              lab.#struckAfter = tally.counts.acknowledged;
            },
            onLost: () => tally.count("fenced"),
            onRestart: () => tally.count("restarts"),
            onCrash: (account) => tally.violated("no instance ends by itself", account),
          },
        }),
      ),
    );
    const reference = new Reference();
    const cast = await openCast(ground, reference);
    const payTo = ground.chain.tokenAccount(ground.treasury.publicKey);
    const targets = () => slots.map(({ target }) => target);
    const { patienceMs } = scale;
    const market = new Market({ ground, reference, tally, payTo, targets, keys: "k", patienceMs });
    const load = new Load(market, cast, {
      customers: scale.customers,
      most: scale.calls,
      dice: dice.fork("load"),
    });
    const stuckMs = patienceMs * STUCK;
    const lab = new Lab({ ground, tally, dice, endpoints, spares, slots, market, load, stuckMs });
    return lab;
  }

  /** Whether to continue. */
  get done(): boolean {
    return this.#load.done || this.#tally.violations.length > 0;
  }

  /** Waits until every instance serves. */
  async everyDoor(): Promise<void> {
    while (this.#slots.some(({ target }) => target === undefined)) await sleep(20);
  }

  /** @throws Error when an instance stays down too long to judge anything */
  async stuck(): Promise<never> {
    for (;;) {
      const down = this.#slots.find(({ downMs }) => downMs > this.#stuckMs);
      if (down)
        throw new Error(
          `an instance has not come up for ${this.#stuckMs / 1_000} s; the last of its log:\n${down.log}`,
        );
      await sleep(1_000);
    }
  }

  /** Runs the faults of a profile against the load for a while, then stops them and checks. */
  async run(profile: Profile, ms: number, signal: AbortSignal): Promise<void> {
    this.#tally.profile = profile.name;
    const plan = new Plan(this.#dice.fork(`phase ${this.#phase++} ${profile.name}`), profile, LEASE_MS);
    if (profile.skew) for (const slot of this.#slots) slot.replace(plan.nextSkew());
    const over = new AbortController();
    const until = AbortSignal.any([over.signal, signal]);
    this.#struckAt = performance.now();
    this.#load.begin();
    const faults = Promise.all([
      every(ORDER_MS, until, () => this.#order(plan, profile.strikeMs)),
      every(profile.crashMs, until, () => this.#crash()),
      every(profile.rpc ? 400 : undefined, until, () => this.#failEndpoints(plan, until)),
      // Advances the chain, so that forked-out payments are reversed during the load.
      every(ms / 2, until, () => this.#ground.chain.settle()),
      every(AUDIT_MS, until, () => this.#auditLive(until)),
    ]);
    faults.catch(() => over.abort());
    const end = performance.now() + ms;
    while (performance.now() < end && !this.done && !until.aborted) await sleep(50);
    over.abort();
    await faults;
    await this.#quiet();
  }

  /** Final checks: every acknowledged call is stored and replayable. */
  async finish(): Promise<void> {
    this.#tally.profile = "the end";
    await checkDurable(this.#market);
    await checkReplays(
      this.#market,
      this.#slots.map(({ target }) => target),
    );
    await checkTreasury(this.#market, () => this.#slots.map(({ log }) => log));
    await checkCharges(this.#market);
    await auditNow(this.#market);
  }

  /** Adds database rows to the violations. */
  explain(): Promise<void> {
    return explainViolations(this.#market);
  }

  async close(): Promise<void> {
    await Promise.all([this.#spares, ...this.#slots, ...this.#endpoints].map((part) => part.close()));
  }

  /**
   * Issues the next order of the plan when one is due, to the planned instance or the next live one. Orders
   * at rare points wait there, so that every point is reached in time.
   */
  #order(plan: Plan, strikeMs: number): void {
    const passedMs = performance.now() - this.#struckAt;
    const worked = this.#tally.counts.acknowledged - this.#struckAfter >= WORK;
    if (passedMs < strikeMs || (!worked && passedMs < 5 * strikeMs)) return;
    // One instance must stay alive.
    if (this.#slots.filter(({ live }) => live).length < 2) return;
    const standing = new Set(this.#slots.flatMap((slot) => Array.from(slot.orders, ({ point }) => point)));
    for (let turn = 0; turn < 200; turn++) {
      const { slot: planned, ...order } = plan.nextOrder(this.#slots.length);
      if (standing.has(order.point)) continue;
      const inTurn = this.#slots.map((_, index) => this.#slots[(planned + index) % this.#slots.length]);
      const chosen = inTurn.find((one) => one?.live);
      for (const slot of isOfTheLeader(order.point) ? this.#slots : [chosen]) slot?.order(order);
      return;
    }
  }

  async #crash(): Promise<void> {
    this.#tally.count("crashes");
    await this.#ground.crashDatabase();
  }

  async #failEndpoints(plan: Plan, until: AbortSignal): Promise<void> {
    const { fault, endpoints, ms } = plan.nextOutage();
    for (const index of endpoints) this.#endpoints[index]?.fail(fault);
    if (fault === "stale") await this.#ground.chain.lag(true);
    await sleep(ms, undefined, { signal: until }).catch(() => {});
    if (fault === "stale") await this.#ground.chain.lag(false);
    for (const endpoint of this.#endpoints) endpoint.fail(undefined);
  }

  async #auditLive(until: AbortSignal): Promise<void> {
    const since = performance.now();
    try {
      await auditNow(this.#market);
    } catch {
      // The database is down; the next audit follows soon.
    }
    // Audits of a long run are slow; most time belongs to the calls.
    await sleep(5 * (performance.now() - since), undefined, { signal: until }).catch(() => {});
  }

  async #quiet(): Promise<void> {
    for (const endpoint of this.#endpoints) endpoint.fail(undefined);
    for (const slot of this.#slots) {
      slot.withdraw();
      slot.replace(0);
    }
    await this.#load.drain();
    await this.everyDoor();
    await this.#ground.chain.settle();
    for (const check of [checkNothingOpen, auditNow, checkMoney, checkCharges]) await check(this.#market);
    this.#tally.count("quiet");
  }
}

/** Whether only the treasury leader passes the point; then all instances get the order. */
function isOfTheLeader(point: Point): point is LinePoint {
  return isLinePoint(point) && point.startsWith("treasury-");
}

/** Repeats a task sequentially until stopped, and waits for the current run. */
async function every(
  ms: number | undefined,
  until: AbortSignal,
  act: () => Promise<void> | void,
): Promise<void> {
  if (ms === undefined) return;
  while (!until.aborted) {
    await sleep(ms, undefined, { signal: until }).catch(() => {});
    if (!until.aborted) await act();
  }
}
