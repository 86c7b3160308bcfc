import { chmod, mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Keypair } from "@solana/web3.js";
import { SessionService } from "#gen/toolgate/console/v1/session_service_pb.ts";
import { signIn } from "../../support/console.ts";
import { restartPort } from "../../support/ports.ts";
import { startCellRouter } from "../../../src/dev/haproxy.ts";
import { Instances, run as runCommand } from "../../instances/process.ts";
import type { LabRun } from "../../lab-kit/run.ts";
import { LabCell } from "./cell.ts";
import { Customer, type Attempt } from "./customer.ts";
import type { CellOptions } from "./main.ts";

const NUMBERS = [1, 2, 3];

/** Time that a phase lasts at least, ms. */
const PHASE_MS = 3_000;

/** Moves at the same time. */
const TOGETHER = 4;

/** Moves accounts between three cells and kills cells, while customers buy through their router. */
export async function playMoves(run: LabRun, options: CellOptions, haproxy: string): Promise<void> {
  const { moves, kills } = options;
  const lab = await CellLab.open(run, haproxy, options.customers);
  run.figures = () => lab.figures();
  run.progress("three cells sell");
  await lab.calm();
  await lab.misroute();
  const rounds = Math.max(1, kills);
  for (let round = 0; round < rounds; round++) {
    await lab.move(Math.floor((moves * (round + 1)) / rounds) - Math.floor((moves * round) / rounds));
    run.progress(`${lab.moved} accounts moved`);
    if (round < kills) await lab.kill();
    if (round < kills) run.progress("a cell was killed and came back");
  }
  await lab.finish();
}

interface Parts {
  readonly cells: readonly LabCell[];
  readonly router: { readonly folder: string; readonly socket: string };
}

/** Three cells, their router and customers. */
class CellLab {
  moved = 0;
  readonly #run: LabRun;
  readonly #cells: readonly LabCell[];
  readonly #router: Parts["router"];
  readonly #customers: Customer[] = [];
  /** Times of answered calls of customers whose cell worked, ms, by phase. */
  readonly #times: Record<string, number[]> = {};
  #refused = 0;
  /** The cell that is killed. */
  #struck: number | undefined;

  private constructor(run: LabRun, { cells, router }: Parts) {
    this.#run = run;
    this.#cells = cells;
    this.#router = router;
  }

  static async open(run: LabRun, program: string, customers: number): Promise<CellLab> {
    const folder = await run.open(
      () => mkdtemp(path.join(os.tmpdir(), "toolgate-cells-")),
      (made) => rm(made, { recursive: true, force: true }),
    );
    // The database's account must reach its data.
    await chmod(folder, 0o755);
    const address = async () => `127.0.0.1:${await restartPort()}`;
    const [http, grpc] = [await address(), await address()];
    const baseUrl = `http://${http}`;
    const instances = new Instances();
    const cells: LabCell[] = [];
    const addresses: { http: string; grpc: string }[] = [];
    for (const number of NUMBERS) {
      const own = { http: await address(), grpc: await address() };
      addresses.push(own);
      const rpcUrl = cells[0]?.environment["SOLANA_RPC_URLS"];
      const place = {
        ...own,
        number,
        folder: path.join(folder, `${number}`),
        publicUrl: baseUrl,
        rpcUrl,
        instances,
      };
      cells.push(
        await run.open(
          () => LabCell.open(place),
          (cell) => cell.close(),
        ),
      );
    }
    await run.open(
      async () => instances,
      (started) => started.close(),
    );
    const routerFolder = path.join(folder, "router");
    const router = await run.open(
      () => startCellRouter(program, { http, grpc, cells: addresses }, routerFolder),
      (started) => started.stop(),
    );
    const lab = new CellLab(run, { cells, router: { folder: routerFolder, socket: router.socket } });
    for (const cell of cells) await lab.#populate(cell, customers, baseUrl);
    await lab.#signIn(baseUrl);
    return lab;
  }

  /** Signs in at the console; the router leads the session to its cell. */
  async #signIn(baseUrl: string): Promise<void> {
    const person = await signIn({ gateway: { consoleUrl: `${baseUrl}/console` } }, Keypair.generate());
    const { session } = await person.client(SessionService).getSession({});
    if (!session) this.#broken("a console session is served by its cell", undefined);
  }

  /** Starts the load and lets it run undisturbed. */
  async calm(): Promise<void> {
    this.#run.tally.profile = "calm";
    for (const customer of this.#customers) customer.begin();
    await sleep(PHASE_MS);
  }

  /** Sends each cell's key to the gateways of the others. */
  async misroute(): Promise<void> {
    this.#run.tally.profile = "misroutes";
    for (const customer of this.#customers) {
      for (const cell of this.#cells.filter(({ number }) => number !== customer.cell)) {
        const { status } = await customer.send("misrouted", cell.baseUrl);
        if (status !== 401 && status !== 503)
          this.#broken("a cell refuses keys of others", { cell: cell.number, key: customer.cell, status });
      }
    }
  }

  async move(count: number): Promise<void> {
    this.#run.tally.profile = "moves";
    const { folder, socket } = this.#router;
    for (let left = count; left > 0; left -= TOGETHER) {
      const movers = this.#run.dice.shuffle(this.#customers).slice(0, Math.min(left, TOGETHER));
      const targets = await Promise.all(movers.map((customer) => this.#moveOne(customer)));
      await this.#command("cells", "maps", "--dir", folder, "--socket", socket);
      for (const [at, customer] of movers.entries()) customer.cell = targets[at];
      this.moved += movers.length;
    }
  }

  /** Kills a whole cell, not the one that the chain belongs to, and starts it again. */
  async kill(): Promise<void> {
    const cell = this.#run.dice.pick(this.#cells.slice(1));
    this.#struck = cell.number;
    this.#run.tally.profile = "kill";
    await cell.kill();
    await sleep(PHASE_MS);
    await cell.restart();
    await sleep(PHASE_MS);
    this.#struck = undefined;
  }

  /** Ends the load and repeats every answered call: it must be answered as before. */
  async finish(): Promise<void> {
    this.#run.tally.profile = "end";
    for (const customer of this.#customers)
      await customer.drain().catch((error: unknown) => this.#broken("every call is answered", String(error)));
    await this.#command("cells", "sweep");
    for (const customer of this.#customers) {
      for (const [key, receiptId] of customer.answered) {
        const again = await customer.send(key);
        if (again.receiptId !== receiptId)
          this.#broken("a repeated call gets its receipt", {
            account: customer.accountId,
            key,
            receiptId,
            again,
          });
      }
      await this.#checkBalance(customer);
    }
    await this.#command("fleet", "audit", "--full", "--chain", "--json");
  }

  /** `p99`: of customers whose cell worked, as a multiple of the calm phase's. */
  figures(): Record<string, unknown> {
    const calm = p99(this.#times["calm"]);
    const ratios = ["moves", "kill"].map((phase) => [phase, p99(this.#times[phase]) / calm]);
    const answered = this.#customers.reduce((sum, customer) => sum + customer.answered.size, 0);
    return { answered, moves: this.moved, refused: this.#refused, p99: Object.fromEntries(ratios) };
  }

  async #populate(cell: LabCell, count: number, baseUrl: string): Promise<void> {
    const options = {
      ...{ baseUrl, cell: cell.number },
      report: (attempt: Attempt, bystander: boolean) => this.#report(attempt, bystander),
      workingCell: (customer: Customer) => (customer.cell === this.#struck ? undefined : customer.cell),
    };
    for (const account of await cell.createAccounts(count))
      this.#customers.push(new Customer({ ...account, ...options }));
  }

  #report({ status, ms }: Attempt, bystander: boolean): void {
    const { tally } = this.#run;
    tally.answered(status === 0 ? "no answer" : String(status));
    if (bystander) (this.#times[tally.profile] ??= []).push(ms);
    if (status === 200) return;
    if (bystander) this.#broken("customers of other cells do not notice", { status });
    else this.#refused++;
  }

  async #moveOne(customer: Customer): Promise<number> {
    const to = this.#run.dice.pick(NUMBERS.filter((number) => number !== customer.cell));
    customer.cell = undefined;
    await this.#command("cells", "move", "--account", customer.accountId, "--to", String(to));
    return to;
  }

  /** A customer is charged once for each answered call. */
  async #checkBalance({ accountId, cell, answered }: Customer): Promise<void> {
    const environment = this.#cells.find(({ number }) => number === cell)?.environment ?? {};
    const { stdout } = await runCommand(["accounts", "show", "--account", accountId, "--json"], environment);
    const [, whole = "0", rest = "0"] = /"balance_usdc":"(-?\d+)(?:\.(\d+))?"/.exec(stdout) ?? [];
    const balance = BigInt(whole) * 1_000_000n + BigInt(rest.padEnd(6, "0"));
    const expected = 1_000_000_000n - BigInt(answered.size) * 1_000n;
    if (balance !== expected)
      this.#broken("each answered call is charged once", { account: accountId, balance, expected });
  }

  /** Runs an operator's command on all cells. */
  async #command(...args: string[]): Promise<void> {
    const environments = this.#cells.map(({ environment }) => environment);
    const settings = {
      CELL_DATABASE_URLS: environments.map(({ CELL, DATABASE_URL }) => `${CELL}=${DATABASE_URL}`).join(" "),
      SOLANA_RPC_URLS: environments[0]?.["SOLANA_RPC_URLS"] ?? "",
    };
    const { exitCode, stdout, stderr } = await runCommand(args, settings);
    if (exitCode !== 0) this.#broken("operators' commands succeed", { args, exitCode, stdout, stderr });
  }

  #broken(promise: string, details: unknown): void {
    this.#run.tally.violated(promise, details);
  }
}

function p99(times: readonly number[] = []): number {
  const sorted = times.toSorted((one, other) => one - other);
  return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0;
}
