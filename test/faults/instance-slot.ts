import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { stopChild } from "../support/child.ts";
import { openLine, type Line } from "./database-proxy.ts";
import { report, type Command } from "./instance/messages.ts";
import { isLinePoint, type Order } from "./points.ts";
import type { Spare, Spares } from "./process-pool.ts";

/** Maximum log kept per instance, characters. */
const LOG_KEPT = 4_000;

/** How long an instance takes to stall after announcing it, ms. */
const STOPPED_MS = 250;

/** Options of a slot. */
export interface SlotOptions {
  readonly seed: string;
  readonly databaseUrl: string;
  readonly spares: Spares;
  onStruck(order: Order): void;
  /** A run's end arrived too late and changed nothing. */
  onLost(): void;
  onRestart(): void;
  /** The instance ended without a fault order. */
  onCrash(details: string): void;
}

/** A slot for one instance. When the instance dies, another takes the slot with the remaining orders. */
export class Slot {
  readonly #options: SlotOptions;
  readonly #line: Line;
  /** Orders by point. */
  readonly orders = new Map<string, Order>();
  /** URL of the instance; undefined until it serves, and once it is bound to die. */
  target: string | undefined;
  /** The latest log of its instances. */
  log = "";
  #child: Spare | undefined;
  #stalled: NodeJS.Timeout | undefined;
  #incarnation = 0;
  #skewMs = 0;
  #closed = false;
  /** Since when no instance serves, monotonic ms. */
  #downSince = performance.now();

  private constructor(options: SlotOptions, line: Line) {
    this.#options = options;
    this.#line = line;
  }

  static async open(options: SlotOptions): Promise<Slot> {
    const line: Line = await openLine(options.databaseUrl, (order) => slot.#struckOnTheLine(order));
    const slot = new Slot(options, line);
    slot.#start();
    return slot;
  }

  /** How long no instance has served, ms. */
  get downMs(): number {
    return this.target === undefined ? performance.now() - this.#downSince : 0;
  }

  /** Whether a new order can strike now. */
  get live(): boolean {
    return this.target !== undefined && this.#stalled === undefined;
  }

  /** Adds an order. It stays until it strikes or is withdrawn, even across instances. */
  order(order: Order): void {
    this.orders.set(order.point, order);
    if (isLinePoint(order.point)) this.#line.orders.set(order.point, order);
    else if (this.target !== undefined) this.#send({ order });
  }

  /** Withdraws a proxy order that another instance carried out. */
  forget(point: string): void {
    this.orders.delete(point);
    this.#line.orders.delete(point);
  }

  /** Withdraws all orders and resumes a stalled instance. */
  withdraw(): void {
    this.orders.clear();
    this.#line.orders.clear();
    if (this.target !== undefined) this.#send({ withdraw: true });
    // An announced stall may not have started; the instance is resumed once it has.
    if (this.#stalled) this.#resumeAfter(STOPPED_MS);
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
    await stopChild(this.#child, "SIGKILL");
    await this.#line.close();
  }

  #start(): void {
    const child = this.#options.spares.take();
    this.#child = child;
    child.stdin.on("error", () => {}); // It may die while a message is sent.
    child.stderr
      .setEncoding("utf8")
      .on("data", (text: string) => (this.log = (this.log + text).slice(-LOG_KEPT)));
    createInterface({ input: child.stdout }).on("line", (line) => this.#receive(child, line));
    let served = false;
    child.stdout.once("data", () => (served = true));
    child.once("exit", (code) => void this.#ended(code, served));
    const seed = `${this.#options.seed}/${++this.#incarnation}`;
    this.#send({ start: { databaseUrl: this.#line.url, seed, skewMs: this.#skewMs } });
  }

  /** Messages can arrive after the instance ended and was replaced. */
  #receive(child: Spare, line: string): void {
    const message = report.parse(JSON.parse(line));
    const present = child === this.#child && child.exitCode === null && child.signalCode === null;
    if ("lost" in message) this.#options.onLost();
    else if ("struck" in message) this.#struckInside(message.struck, present);
    else if (present) {
      this.target = message.ready.baseUrl;
      for (const order of this.orders.values()) this.order(order);
    }
  }

  async #ended(code: number | null, served: boolean): Promise<void> {
    this.#leave();
    clearTimeout(this.#stalled);
    this.#stalled = undefined;
    if (this.#closed) return;
    if (served && code !== null) this.#options.onCrash(`exit code ${code}, log: ${this.log}`);
    if (!served) await sleep(200); // The database is down.
    if (this.#closed) return;
    this.#options.onRestart();
    this.#start();
  }

  #send(command: Command): void {
    this.#child?.stdin.write(`${JSON.stringify(command)}\n`);
  }

  #struckInside(order: Order, present: boolean): void {
    this.orders.delete(order.point);
    this.#options.onStruck(order);
    if (present && order.action === "kill") this.#leave();
    if (present && order.action === "stall") this.#resumeAfter(order.ms);
  }

  #struckOnTheLine(order: Order): void {
    this.orders.delete(order.point);
    this.#options.onStruck(order);
    if (order.action === "kill") this.#kill();
    if (order.action === "stall" && this.#child?.kill("SIGSTOP")) this.#resumeAfter(order.ms);
  }

  #kill(): void {
    this.#leave();
    this.#child?.kill("SIGKILL");
  }

  /** Sends no more calls to the instance. */
  #leave(): void {
    if (this.target !== undefined) this.#downSince = performance.now();
    this.target = undefined;
  }

  #resumeAfter(ms: number): void {
    clearTimeout(this.#stalled);
    this.#stalled = setTimeout(() => {
      this.#stalled = undefined;
      this.#child?.kill("SIGCONT");
    }, ms);
  }
}
