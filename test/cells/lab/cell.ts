import path from "node:path";
import { z } from "zod";
import { openDevWorld, type OpenDevWorld } from "../../../src/dev/index.ts";
import { run, type Instance, type Instances } from "../../instances/process.ts";
import { signalPostgres } from "../../lab-kit/database.ts";

const created = z.object({ account_id: z.string(), api_key: z.string() });

/** Maximum starts of a gateway. */
const MOST_STARTS = 4;

/** Where a cell lives, and what it listens on. */
interface Place {
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
  readonly baseUrl: string;
  readonly #place: Place;
  #world: OpenDevWorld;
  #gateway: Instance;

  private constructor(place: Place, world: OpenDevWorld, gateway: Instance) {
    this.number = place.number;
    this.baseUrl = `http://${place.http}`;
    this.#place = place;
    this.#world = world;
    this.#gateway = gateway;
  }

  static async open(place: Place): Promise<LabCell> {
    const world = await openWorld(place);
    return new LabCell(place, world, await serve(place, world));
  }

  get environment(): Record<string, string> {
    return { ...this.#world.environment, CELL: String(this.number) };
  }

  /** Accounts with 1,000 USDC and a key each. */
  async createAccounts(count: number): Promise<{ accountId: string; apiKey: string }[]> {
    const limits = ["--rate", "1000000", "--burst", "100000"];
    const args = ["accounts", "create", "--count", String(count), "--usdc", "1000", "--json", ...limits];
    const { stdout, stderr } = await run(args, this.environment);
    const accounts = Array.from(stdout.matchAll(/.+/g), ([line]) => created.parse(JSON.parse(line)));
    if (accounts.length !== count) throw new Error(`accounts create: ${stderr}`);
    return accounts.map(({ account_id: accountId, api_key: apiKey }) => ({ accountId, apiKey }));
  }

  /** Kills gateway and database at once. */
  async kill(): Promise<void> {
    this.#gateway.signal("SIGKILL");
    await signalPostgres(path.join(this.#place.folder, "postgres/data"), "SIGKILL");
    await this.#gateway.ended;
  }

  /** Starts both again, with what the disk holds. */
  async restart(): Promise<void> {
    await this.#world.stop();
    this.#world = await openWorld(this.#place);
    this.#gateway = await serve(this.#place, this.#world);
  }

  async close(): Promise<void> {
    await this.#world.stop();
  }
}

function openWorld({ number, folder, rpcUrl }: Place): Promise<OpenDevWorld> {
  const parts = { withInference: false, withApi: false, buildConsole: false };
  return openDevWorld({ dataDir: folder, rpcUrl, cell: number, ...parts, log: () => {} });
}

/** Starts again when a killed database still recovers. */
async function serve(
  { number, http, grpc, publicUrl, instances }: Place,
  world: OpenDevWorld,
): Promise<Instance> {
  const [portOf, settings] = [(address: string) => address.split(":")[1] ?? "", world.environment];
  for (let attempt = 1; ; attempt++) {
    try {
      return await instances.serve({
        ...settings,
        ...{ CELL: String(number), HOST: "127.0.0.1", PORT: portOf(http), GRPC_PORT: portOf(grpc) },
        ...{ PUBLIC_URL: publicUrl, TRUSTED_PROXY_HOPS: "1", SANDBOX_ISOLATION: "off" },
        // A call that was killed answers 409 until its lease ends: sooner than a phase.
        ...{ DRAIN_MS: "0", LOG_LEVEL: "warn", RUN_LEASE_MS: "3000" },
      });
    } catch (error) {
      if (attempt === MOST_STARTS) throw error;
    }
  }
}
