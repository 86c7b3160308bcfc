import { mkdtempSync, rmSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../../src/dev/free-port.ts";
import { startCellRouter, type CellRouter } from "../../../src/dev/haproxy.ts";
import type { Dice } from "../../faults/seeded-random.ts";
import { Instances, run } from "../../instances/process.ts";
import { LabCell } from "./cell.ts";
import { Customer, type Attempt } from "./customer.ts";

const NUMBERS = [1, 2, 3];

/** Time that a phase lasts at least, ms. */
const PHASE_MS = 3_000;

/** Moves at the same time. */
const TOGETHER = 4;

/** Three cells, their router and customers. */
export class CellLab {
  readonly attempts: (Attempt & { readonly phase: string })[] = [];
  readonly broken: string[] = [];
  customers: Customer[] = [];
  moved = 0;
  readonly #dice: Dice;
  readonly #folder = mkdtempSync(path.join(tmpdir(), "toolgate-cells-"));
  readonly #instances = new Instances();
  readonly #cells: LabCell[] = [];
  #router: CellRouter | undefined;
  #baseUrl = "";
  #phase = "start";
  /** The cell that is killed. */
  #struck: number | undefined;

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  async open(program: string, customers: number): Promise<void> {
    // The database's account must reach its data.
    await chmod(this.#folder, 0o755);
    const address = async () => `127.0.0.1:${await freePort()}`;
    const [http, grpc] = [await address(), await address()];
    this.#baseUrl = `http://${http}`;
    const addresses: { http: string; grpc: string }[] = [];
    for (const number of NUMBERS) {
      const own = { http: await address(), grpc: await address() };
      addresses.push(own);
      const cell = await LabCell.open({
        ...{ number, ...own, publicUrl: this.#baseUrl, instances: this.#instances },
        folder: path.join(this.#folder, String(number)),
        rpcUrl: this.#cells[0]?.rpcUrl,
      });
      this.#cells.push(cell);
    }
    this.#router = await startCellRouter(program, { http, grpc, cells: addresses }, this.#routerFolder);
    const options = {
      report: (attempt: Attempt) => void this.attempts.push({ ...attempt, phase: this.#phase }),
      workingCell: ({ cell }: Customer) => (cell === this.#struck ? undefined : cell),
    };
    for (const cell of this.#cells) {
      const accounts = await cell.createAccounts(customers);
      this.customers.push(
        ...accounts.map((account) => new Customer({ ...account, cell: cell.number }, this.#baseUrl, options)),
      );
    }
  }

  /** Starts the load and lets it run undisturbed. */
  async calm(): Promise<void> {
    for (const customer of this.customers) customer.begin();
    this.#phase = "calm";
    await sleep(PHASE_MS);
  }

  /** Sends each cell's key to the gateways of the others. */
  async misroute(): Promise<void> {
    this.#phase = "misroutes";
    for (const customer of this.customers) {
      for (const cell of this.#cells.filter(({ number }) => number !== customer.cell)) {
        const { status } = await customer.send("misrouted", cell.baseUrl);
        if (status !== 401 && status !== 503)
          this.broken.push(`cell ${cell.number} answered ${status} to a key of cell ${customer.cell}`);
      }
    }
  }

  async move(count: number): Promise<void> {
    this.#phase = "moves";
    for (let left = count; left > 0; left -= TOGETHER) {
      const movers = this.#dice.shuffle(this.customers).slice(0, Math.min(left, TOGETHER));
      const moves = movers.map((customer) => this.#moveOne(customer));
      const targets = await Promise.all(moves);
      await this.#command(
        "cells",
        "maps",
        "--dir",
        this.#routerFolder,
        "--socket",
        this.#router?.socket ?? "",
      );
      movers.forEach((customer, at) => (customer.cell = targets[at]));
      this.moved += movers.length;
    }
  }

  /** Kills a whole cell, not the one that the chain belongs to, and starts it again. */
  async kill(): Promise<void> {
    const [, ...others] = this.#cells;
    const cell = this.#dice.pick(others);
    this.#struck = cell.number;
    this.#phase = "kill";
    await cell.kill();
    await sleep(PHASE_MS);
    await cell.restart();
    await sleep(PHASE_MS);
    this.#struck = undefined;
  }

  /** Ends the load and repeats every answered call: it must be answered as before. */
  async finish(): Promise<void> {
    this.#phase = "end";
    for (const customer of this.customers)
      await customer.drain().catch((error: unknown) => this.broken.push(String(error)));
    await this.#command("cells", "sweep");
    for (const customer of this.customers) {
      for (const { key, receiptId } of customer.answered) {
        const again = await customer.send(key);
        if (again.receiptId !== receiptId)
          this.broken.push(`${customer.accountId}: ${key} had ${receiptId} and now ${JSON.stringify(again)}`);
      }
    }
    await this.#balances();
    await this.#command("fleet", "audit", "--full", "--chain", "--json");
  }

  async close(): Promise<void> {
    await this.#router?.stop();
    await this.#instances.close();
    for (const cell of this.#cells.toReversed()) await cell.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #routerFolder(): string {
    return path.join(this.#folder, "router");
  }

  async #moveOne(customer: Customer): Promise<number> {
    const from = customer.cell ?? 0;
    const to = this.#dice.pick(NUMBERS.filter((number) => number !== from));
    customer.cell = undefined;
    await this.#command("cells", "move", "--account", customer.accountId, "--to", String(to));
    return to;
  }

  /** Each customer was charged once for each answered call. */
  async #balances(): Promise<void> {
    for (const customer of this.customers) {
      const cell = this.#cells.find(({ number }) => number === customer.cell);
      const args = ["accounts", "show", "--account", customer.accountId, "--json"];
      const { stdout } = await run(args, cell?.environment ?? {});
      const [, whole = "0", rest = "0"] = /"balance_usdc":"(-?\d+)(?:\.(\d+))?"/.exec(stdout) ?? [];
      const balance = BigInt(whole) * 1_000_000n + BigInt(rest.padEnd(6, "0"));
      const expected = 1_000_000_000n - BigInt(customer.answered.length) * 1_000n;
      if (balance !== expected)
        this.broken.push(`${customer.accountId}: has ${balance} micro-USD and should have ${expected}`);
    }
  }

  /** Runs an operator's command on all cells; one that fails is a broken promise. */
  async #command(...args: string[]): Promise<void> {
    const CELL_DATABASE_URLS = this.#cells
      .map(({ number, databaseUrl }) => `${number}=${databaseUrl}`)
      .join(" ");
    const settings = { CELL_DATABASE_URLS, SOLANA_RPC_URLS: this.#cells[0]?.rpcUrl ?? "" };
    const { exitCode, stdout, stderr } = await run(args, settings);
    if (exitCode !== 0) this.broken.push(`${args.join(" ")}: exit code ${exitCode}: ${stdout}${stderr}`);
  }
}
