import path from "node:path";
import { ROOT } from "../tooling/command.ts";
import { Instances, type Instance } from "../instances/process.ts";
import type { Tally } from "./tally.ts";

/** Gateways as `serve` runs them. */
export class Gateways {
  running: readonly Instance[] = [];
  readonly #settings: Record<string, string>;
  readonly #tally: Tally;
  readonly #program: string;
  readonly #instances = new Instances();

  /** @param root the folder of another version of the program */
  constructor(settings: Record<string, string>, tally: Tally, root = ROOT) {
    this.#settings = settings;
    this.#tally = tally;
    this.#program = path.join(root, "src/main.mjs");
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
    const serve = () => this.#instances.serve(this.#settings, { program: this.#program });
    this.running = await Promise.all(Array.from({ length: count }, serve));
    for (const instance of this.running) void this.#watch(instance);
  }

  /** Stops them as an update does. */
  async stop(): Promise<void> {
    const ending = this.running;
    this.running = [];
    for (const { signal } of ending) signal("SIGTERM");
    for (const { ended, log } of ending) {
      const code = await ended;
      if (code !== 0) this.#tally.violated("an instance stops", { code, log: log().slice(-4_000) });
    }
  }

  /** @returns their logs */
  async kill(): Promise<string> {
    const { logs } = this;
    await this.#instances.close();
    this.running = [];
    return logs.join("");
  }

  async #watch(instance: Instance): Promise<void> {
    const { ended, log } = instance;
    const code = await ended;
    if (code !== null && this.running.includes(instance))
      this.#tally.violated("no instance ends by itself", { code, log: log().slice(-4_000) });
  }
}
