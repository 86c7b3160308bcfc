import type { Dice } from "../lab-kit/random.ts";
import { LINE_POINTS, PORT_POINTS, type Action, type Order } from "./points.ts";
import { RPC_FAULTS, type RpcFault } from "./rpc-endpoint.ts";

/** A set of faults that strike together. */
export interface Profile {
  readonly name: string;
  /** Faults in an instance. */
  readonly inside: readonly Action[];
  /** Faults of the database proxy. */
  readonly onTheLine: readonly Action[];
  /** Target interval between faults, ms; below it, more orders are issued. */
  readonly strikeMs: number;
  /** Interval between PostgreSQL crashes, ms. */
  readonly crashMs?: number;
  readonly rpc?: true;
  /** Sets the instances' clocks up to ten minutes wrong. */
  readonly skew?: true;
}

const CALM: Omit<Profile, "name"> = { inside: ["delay", "fail"], onTheLine: [], strikeMs: 500 };

/** Stalls have a separate profile: with kills, a stalled instance rarely resumes. */
export const PROFILES = [
  { name: "kills", inside: ["kill", "fail"], onTheLine: ["kill"], strikeMs: 550 },
  { name: "stalls", inside: ["stall", "fail"], onTheLine: ["stall"], strikeMs: 900 },
  { name: "stalls-and-kills", inside: ["stall", "kill"], onTheLine: ["stall", "kill"], strikeMs: 600 },
  { ...CALM, name: "postgres", onTheLine: ["cut"], strikeMs: 200, crashMs: 6_000 },
  { ...CALM, name: "rpc", rpc: true },
  { ...CALM, name: "skew", skew: true },
  {
    ...{ name: "storm", inside: ["kill", "stall", "delay", "fail"], onTheLine: ["cut", "kill", "stall"] },
    ...{ strikeMs: 500, crashMs: 8_000, rpc: true, skew: true },
  },
] as const satisfies readonly Profile[];

/** A period in which endpoints fail. */
interface Outage {
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
  #faults: { point: string; action: Action }[] = [];
  #outages: RpcFault[] = [];

  constructor(dice: Dice, profile: Profile, leaseMs: number) {
    this.#dice = dice;
    this.#profile = profile;
    this.#leaseMs = leaseMs;
  }

  /** The next order and its instance: every fault of the profile once, shuffled, then again. */
  nextOrder(slots: number): Order & { readonly slot: number } {
    if (this.#faults.length === 0) this.#faults = this.#dice.shuffle(faultsOf(this.#profile));
    const fault = this.#faults.pop();
    if (!fault) throw new Error(`the profile ${this.#profile.name} has no faults`);
    const dice = this.#dice;
    // A stalled instance keeps its runs for four more leases: some stalls end before that, some after.
    const stall = dice.pick([1, 5]) * this.#leaseMs + dice.between(500, 1_500);
    const ms = fault.action === "stall" ? stall : dice.between(20, 1_500);
    return { ...fault, ms, slot: dice.between(0, slots - 1) };
  }

  nextOutage(): Outage {
    if (this.#outages.length === 0) this.#outages = this.#dice.shuffle(RPC_FAULTS);
    const fault = this.#outages.pop() ?? "silence";
    return { fault, endpoints: this.#dice.pick([[0], [1], [0, 1]]), ms: this.#dice.between(100, 1_500) };
  }

  /** The error of an instance's clock, ms; half of them are exact. */
  nextSkew(): number {
    return this.#profile.skew ? this.#dice.pick([0, this.#dice.between(-600_000, 600_000)]) : 0;
  }
}

/** Every pair of a point and a fault. */
function faultsOf({ inside, onTheLine }: Profile): { point: string; action: Action }[] {
  const pairs = (points: readonly string[], actions: readonly Action[]) =>
    points.flatMap((point) => actions.map((action) => ({ point, action })));
  return [
    // Only the tool fails.
    ...pairs(PORT_POINTS, inside).filter(
      ({ point, action }) => action !== "fail" || point.startsWith("tool.run"),
    ),
    // A late statement implies a broken connection.
    ...pairs(LINE_POINTS, onTheLine).filter(
      ({ point, action }) => action === "cut" || !point.endsWith(":late"),
    ),
  ];
}
