import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { report, type Command } from "./instance/messages.ts";
import { Line } from "./database-proxy.ts";
import { isLinePoint, type LinePoint, type Order } from "./points.ts";
import { endSpare, type Spare, type Spares } from "./process-pool.ts";

/** Maximum log kept per instance, characters. */
const LOG_KEPT = 4_000;

/** How long an instance takes to stall after announcing it, ms. */
const STOPPED_MS = 250;

/** Events of a slot. */
export interface SlotEvents {
  onStruck(order: Order): void;
  /** A run's end arrived too late and changed nothing. */
  onLost(): void;
  onRestart(): void;
  /** The instance ended without a fault order. */
  onCrash(account: string): void;
}

/** Options of a slot. */
export interface SlotOptions {
  readonly seed: string;
  readonly databaseUrl: string;
  readonly spares: Spares;
  readonly events: SlotEvents;
}

/** A slot for one instance. When the instance dies, another takes the slot with the remaining orders. */
export class Slot {
  readonly #options: SlotOptions;
  readonly #line: Line;
  readonly #standing = new Map<string, Order>();
  #child: Spare | undefined;
  /** Undefined also once the instance is bound to die. */
  #baseUrl: string | undefined;
  #ready = false;
  #stalled: NodeJS.Timeout | undefined;
  #incarnation = 0;
  #skewMs = 0;
  #closed = false;
  /** Since when no instance serves, monotonic ms. */
  #downSince = performance.now();
  #log = "";

  private constructor(options: SlotOptions, line: Line) {
    this.#options = options;
    this.#line = line;
  }

  static async open(options: SlotOptions): Promise<Slot> {
    const line: Line = await Line.open(options.databaseUrl, (order) => slot.#struckOnTheLine(order));
    const slot = new Slot(options, line);
    slot.#start();
    return slot;
  }

  /** URL of the instance; undefined while it starts. A stalled instance has one but does not answer. */
  get target(): string | undefined {
    return this.#baseUrl;
  }

  /** How long no instance has served, ms. */
  get downMs(): number {
    return this.#baseUrl === undefined ? performance.now() - this.#downSince : 0;
  }

  /** The latest log of its instances. */
  get log(): string {
    return this.#log;
  }

  /** Whether a new order can strike now. */
  get live(): boolean {
    return this.#baseUrl !== undefined && this.#stalled === undefined;
  }

  get orders(): Iterable<Order> {
    return this.#standing.values();
  }

  /** Adds an order. It stays until it strikes or is withdrawn, even across instances. */
  order(order: Order): void {
    this.#standing.set(order.point, order);
    this.#hand(order);
  }

  /** Withdraws a proxy order that another instance carried out. */
  forget(point: LinePoint): void {
    this.#standing.delete(point);
    this.#line.forget(point);
  }

  /** Withdraws all orders and resumes a stalled instance. */
  withdraw(): void {
    this.#standing.clear();
    this.#line.withdraw();
    this.#send({ withdraw: true });
    // An announced stall may not have started; the instance is resumed once it has.
    if (this.#stalled) this.#goOnLater(STOPPED_MS);
  }

  /** Kills the instance; the next one starts with its clock that many ms ahead. */
  replace(skewMs: number): void {
    if (skewMs === this.#skewMs) return;
    this.#skewMs = skewMs;
    this.#kill();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#stalled);
    if (this.#child) await endSpare(this.#child);
    await this.#line.close();
  }

  #start(): void {
    const { seed, spares } = this.#options;
    const child = spares.take();
    this.#child = child;
    child.stdin.on("error", () => {}); // It may die while a message is sent.
    child.stderr
      .setEncoding("utf8")
      .on("data", (text: string) => (this.#log = (this.#log + text).slice(-LOG_KEPT)));
    createInterface({ input: child.stdout }).on("line", (line) => this.#hear(child, line));
    child.once("exit", (code) => void this.#ended(code));
    const start = {
      databaseUrl: this.#line.url,
      seed: `${seed}/${++this.#incarnation}`,
      skewMs: this.#skewMs,
    };
    this.#write({ start });
  }

  /** Messages can arrive after the instance ended and was replaced. */
  #hear(child: Spare, line: string): void {
    const said = report.parse(JSON.parse(line));
    const present = child === this.#child && child.exitCode === null && child.signalCode === null;
    if ("lost" in said) this.#options.events.onLost();
    else if ("struck" in said) this.#struckInside(said.struck, present);
    else if (present) {
      this.#ready = true;
      this.#baseUrl = said.ready.baseUrl;
      for (const order of this.#standing.values()) this.#hand(order);
    }
  }

  async #ended(code: number | null): Promise<void> {
    const served = this.#ready;
    this.#ready = false;
    this.#shut();
    clearTimeout(this.#stalled);
    this.#stalled = undefined;
    if (this.#closed) return;
    if (served && code !== null) this.#options.events.onCrash(`exit code ${code}, log: ${this.#log}`);
    if (!served) await sleep(200); // the database is away
    if (this.#closed) return;
    this.#options.events.onRestart();
    this.#start();
  }

  #hand(order: Order): void {
    const { point, action, ms } = order;
    if (isLinePoint(point)) this.#line.order({ point, action, ms });
    else if (action !== "cut") this.#send({ order: { point, action, ms } });
  }

  #send(command: Command): void {
    if (this.#baseUrl !== undefined) this.#write(command);
  }

  #write(command: Command): void {
    this.#child?.stdin.write(`${JSON.stringify(command)}\n`);
  }

  #struckInside(order: Order, present: boolean): void {
    this.#standing.delete(order.point);
    this.#options.events.onStruck(order);
    if (!present) return;
    if (order.action === "kill") this.#shut();
    if (order.action === "stall") this.#goOnLater(order.ms);
  }

  #struckOnTheLine(order: Order): void {
    this.#standing.delete(order.point);
    this.#options.events.onStruck(order);
    if (order.action === "kill") this.#kill();
    if (order.action === "stall" && this.#child?.kill("SIGSTOP")) this.#goOnLater(order.ms);
  }

  #kill(): void {
    this.#shut();
    this.#child?.kill("SIGKILL");
  }

  /** Sends no more calls to the instance. */
  #shut(): void {
    if (this.#baseUrl !== undefined) this.#downSince = performance.now();
    this.#baseUrl = undefined;
  }

  #goOnLater(ms: number): void {
    clearTimeout(this.#stalled);
    this.#stalled = setTimeout(() => this.#goOn(), ms);
  }

  #goOn(): void {
    clearTimeout(this.#stalled);
    this.#stalled = undefined;
    this.#child?.kill("SIGCONT");
  }
}
