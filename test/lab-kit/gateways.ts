import { Instances, type Instance } from "../instances/process.ts";
import type { Tally } from "./tally.ts";

/** Gateways as `serve` runs them. */
export class Gateways {
  running: readonly Instance[] = [];
  readonly #settings: Record<string, string>;
  readonly #tally: Tally;
  readonly #instances = new Instances();

  constructor(settings: Record<string, string>, tally: Tally) {
    this.#settings = settings;
    this.#tally = tally;
  }

  /** Their URLs. */
  get targets(): string[] {
    return this.running.map(({ baseUrl }) => baseUrl);
  }

  /** Their logs so far. */
  get logs(): string[] {
    return this.running.map(({ log }) => log());
  }

  async serve(count: number): Promise<void> {
    const serve = () => this.#instances.serve(this.#settings);
    this.running = await Promise.all(Array.from({ length: count }, serve));
    for (const instance of this.running) void this.#watch(instance);
  }

  /** @returns their logs */
  async kill(): Promise<string> {
    const { logs } = this;
    await this.#instances.close();
    this.running = [];
    return logs.join("");
  }

  async #watch({ ended, log }: Instance): Promise<void> {
    const code = await ended;
    if (code !== null) this.#tally.violated("no instance ends by itself", { code, log: log().slice(-4_000) });
  }
}
