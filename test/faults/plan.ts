import type { Dice } from "./seeded-random.ts";
import type { Order } from "./points.ts";
import { faultsOf, type Profile } from "./profiles.ts";
import { RPC_FAULTS, type RpcFault } from "./rpc-endpoint.ts";

/** An order with its instance. */
export interface PlannedOrder extends Order {
  readonly slot: number;
}

/** A period in which endpoints fail. */
export interface PlannedOutage {
  readonly fault: RpcFault;
  /** Which of the two endpoints. */
  readonly endpoints: readonly number[];
  readonly ms: number;
}

/** A phase determined by the seed: faults, their order, instances and durations. */
export class Plan {
  readonly #dice: Dice;
  readonly #profile: Profile;
  readonly #leaseMs: number;
  #faults: ReturnType<typeof faultsOf> = [];
  #outages: RpcFault[] = [];

  constructor(dice: Dice, profile: Profile, leaseMs: number) {
    this.#dice = dice;
    this.#profile = profile;
    this.#leaseMs = leaseMs;
  }

  /** The next order: every fault of the profile once, shuffled, then again. */
  nextOrder(slots: number): PlannedOrder {
    if (this.#faults.length === 0) this.#faults = this.#dice.shuffle(faultsOf(this.#profile));
    const fault = this.#faults.pop();
    if (!fault) throw new Error(`the profile ${this.#profile.name} has no faults`);
    const dice = this.#dice;
    // A stalled instance keeps its runs for four more leases: some stalls end before that, some after.
    const stall = dice.pick([1, 5]) * this.#leaseMs + dice.between(500, 1_500);
    const ms = fault.action === "stall" ? stall : dice.between(20, 1_500);
    return { ...fault, ms, slot: dice.between(0, slots - 1) };
  }

  nextOutage(): PlannedOutage {
    if (this.#outages.length === 0) this.#outages = this.#dice.shuffle(RPC_FAULTS);
    const fault = this.#outages.pop() ?? "silence";
    const endpoints = this.#dice.pick([[0], [1], [0, 1]]);
    return { fault, endpoints, ms: this.#dice.between(100, 1_500) };
  }

  /** The error of an instance's clock, ms; half of them are exact. */
  nextSkew(): number {
    return this.#profile.skew ? this.#dice.pick([0, this.#dice.between(-600_000, 600_000)]) : 0;
  }
}
