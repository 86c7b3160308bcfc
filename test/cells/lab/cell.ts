import { readFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { z } from "zod";
import { openDevWorld, type OpenDevWorld } from "../../../src/dev/index.ts";
import { run, type Instance, type Instances } from "../../instances/process.ts";

const created = z.object({ account_id: z.string(), api_key: z.string() });

/** Maximum starts of a gateway. */
const MOST_STARTS = 4;

/** Where a cell lives, and what it listens on. */
export interface CellOptions {
  readonly number: number;
  readonly folder: string;
  readonly http: string;
  readonly grpc: string;
  readonly publicUrl: string;
  readonly rpcUrl: string | undefined;
  readonly instances: Instances;
}

/** A cell whose gateway and database are processes that can be killed. */
export class LabCell {
  readonly number: number;
  readonly #options: CellOptions;
  #world: OpenDevWorld;
  #gateway: Instance;

  private constructor(options: CellOptions, world: OpenDevWorld, gateway: Instance) {
    this.number = options.number;
    this.#options = options;
    this.#world = world;
    this.#gateway = gateway;
  }

  static async open(options: CellOptions): Promise<LabCell> {
    const world = await openWorld(options);
    return new LabCell(options, world, await serve(options, world));
  }

  get baseUrl(): string {
    return `http://${this.#options.http}`;
  }

  get databaseUrl(): string {
    return this.#world.environment["DATABASE_URL"] ?? "";
  }

  get rpcUrl(): string {
    return this.#world.environment["SOLANA_RPC_URLS"] ?? "";
  }

  get environment(): Record<string, string> {
    return { ...this.#world.environment, CELL: String(this.number) };
  }

  /** Accounts with 1,000 USDC and a key each. */
  async createAccounts(count: number): Promise<{ accountId: string; apiKey: string }[]> {
    const args = ["accounts", "create", "--count", String(count), "--usdc", "1000", "--json"];
    const { stdout, stderr } = await run(
      [...args, "--rate", "1000000", "--burst", "100000"],
      this.environment,
    );
    const accounts = stdout.trim().split("\n").filter((line) => line !== ""); // prettier-ignore
    if (accounts.length !== count) throw new Error(`accounts create: ${stderr}`);
    return accounts.map((line) => {
      const { account_id: accountId, api_key: apiKey } = created.parse(JSON.parse(line));
      return { accountId, apiKey };
    });
  }

  /** Kills gateway and database at once. */
  async kill(): Promise<void> {
    this.#gateway.signal("SIGKILL");
    const data = path.join(this.#options.folder, "postgres/data/postmaster.pid");
    process.kill(Number(readFileSync(data, "utf8").split("\n")[0]), "SIGKILL");
    await this.#gateway.ended;
  }

  /** Starts both again, with what the disk holds. */
  async restart(): Promise<void> {
    await this.#world.stop();
    this.#world = await openWorld(this.#options);
    this.#gateway = await serve(this.#options, this.#world);
  }

  async close(): Promise<void> {
    await this.#world.stop();
  }
}

function openWorld({ number, folder, rpcUrl }: CellOptions): Promise<OpenDevWorld> {
  return openDevWorld({
    dataDir: folder,
    rpcUrl,
    cell: number,
    withInference: false,
    withApi: false,
    buildConsole: false,
    log: () => {},
  });
}

/** Starts again when a killed database still recovers. */
async function serve(options: CellOptions, world: OpenDevWorld): Promise<Instance> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await serveOnce(options, world);
    } catch (error) {
      if (attempt === MOST_STARTS) throw error;
    }
  }
}

function serveOnce(options: CellOptions, world: OpenDevWorld): Promise<Instance> {
  const { number, http, grpc, publicUrl, instances } = options;
  return instances.serve({
    ...world.environment,
    CELL: String(number),
    HOST: "127.0.0.1",
    PORT: http.split(":")[1] ?? "",
    GRPC_PORT: grpc.split(":")[1] ?? "",
    PUBLIC_URL: publicUrl,
    TRUSTED_PROXY_HOPS: "1",
    SANDBOX_ISOLATION: "off",
    DRAIN_MS: "0",
    LOG_LEVEL: "warn",
  });
}
