import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { report, type Command } from "./instance/messages.ts";
import { Line } from "./database-proxy.ts";
import { isLinePoint, type LinePoint, type Order } from "./points.ts";
import { endSpare, type Spare, type Spares } from "./process-pool.ts";

/** How much of what an instance has logged is kept, characters. */
const LOG_KEPT = 4_000;

/** How long one that has said that it stops takes to do so, ms. */
const STOPPED_MS = 250;

/** What a slot tells the lab. */
export interface SlotEvents {
  onStruck(order: Order): void;
  /** A finish came too late and did nothing. */
  onLost(): void;
  onRestart(): void;
  /** The instance ended, and nobody had told it to. */
  onCrash(account: string): void;
}

/** What a slot needs. */
export interface SlotOptions {
  readonly seed: string;
  readonly databaseUrl: string;
  readonly spares: Spares;
  readonly events: SlotEvents;
}

/** The place of one instance: whenever it dies another one takes it, with the orders that were left. */
export class Slot {
  readonly #options: SlotOptions;
  readonly #line: Line;
  readonly #standing = new Map<string, Order>();
  #child: Spare | undefined;
  /** Undefined also as soon as the instance is bound to die. */
  #baseUrl: string | undefined;
  #ready = false;
  #stalled: NodeJS.Timeout | undefined;
  #incarnation = 0;
  #skewMs = 0;
  #closed = false;
  /** Since when it has no door, ms of the monotonic clock. */
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

  /** Where it is called; undefined while it starts. A stalled one has a door, and does not answer. */
  get door(): string | undefined {
    return this.#baseUrl;
  }

  /** How long it has had no instance that serves, ms. */
  get downMs(): number {
    return this.#baseUrl === undefined ? performance.now() - this.#downSince : 0;
  }

  /** The last of what its instances have logged. */
  get log(): string {
    return this.#log;
  }

  /** Whether an order given now can be struck. */
  get live(): boolean {
    return this.#baseUrl !== undefined && this.#stalled === undefined;
  }

  get orders(): Iterable<Order> {
    return this.#standing.values();
  }

  /** Gives an order, which stands until it is struck or withdrawn, also when the instance dies meanwhile. */
  order(order: Order): void {
    this.#standing.set(order.point, order);
    this.#hand(order);
  }

  /** Takes an order of the line back: another instance has carried it out. */
  forget(point: LinePoint): void {
    this.#standing.delete(point);
    this.#line.forget(point);
  }

  /** Takes all orders back and lets a stalled instance go on. */
  withdraw(): void {
    this.#standing.clear();
    this.#line.withdraw();
    this.#send({ withdraw: true });
    // One that has said that it stops may be about to: it is let go on when it has.
    if (this.#stalled) this.#goOnLater(STOPPED_MS);
  }

  /** Ends the instance at once; another one starts, with its clock so many ms ahead. */
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
    child.stdin.on("error", () => {}); // it may die while it is told something
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
    this.#tell({ start });
  }

  /** What one says that has died may be heard only after its end: by then another one has its place. */
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
    if (this.#baseUrl !== undefined) this.#tell(command);
  }

  #tell(command: Command): void {
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

  /** From now on nobody is sent to its door. */
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
