import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { Keypair } from "@solana/web3.js";
import { z } from "zod";
import { startEmbeddedPostgres } from "../../src/dev/embedded-postgres/index.ts";
import { migrate } from "../../src/postgres/database/migrate.ts";
import { databaseUrl, query } from "../support/database-server.ts";
import { openMemoryFolder } from "../tooling/memory-folder.ts";
import { makeAccounts } from "./accounts.ts";
import { treeUse } from "./process-tree.ts";
import { rpcRequest } from "./rpc-request.ts";
import { ServerProcess } from "./server-process.ts";

const chainReady = z.object({ url: z.string() });
const gatewayReady = z.object({ base_url: z.string(), grpc_address: z.string() });

/** The database that all others are copies of: to migrate each takes a second. */
const TEMPLATE = "bench_template";

/** Balance of the fee payer, lamports. */
const FEES = 1_000_000_000;

export interface ServedGateway {
  readonly server: ServerProcess;
  /** Of HTTP. */
  readonly port: number;
  readonly grpcPort: number;
}

export interface ServeOptions {
  /** Folder of its CPU profile. */
  readonly profile?: string | undefined;
  /** Another database of the same server, from `createDatabase`. */
  readonly databaseUrl?: string;
  /** Settings that override the world's. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Dependencies of the measured gateways: PostgreSQL with durable commits and the local chain. */
export interface World {
  readonly databaseUrl: string;
  readonly rpcUrl: string;
  readonly treasuryOwner: string;
  /** The file of a wallet with SOL. */
  readonly feePayerFile: string;
  /** Another, migrated database on this server. */
  createDatabase(name: string): Promise<string>;
  /** CPU time of PostgreSQL's processes up to now, seconds; undefined where it cannot be measured. */
  databaseCpu(): Promise<number | undefined>;
  /** `node src/main.ts serve`. */
  serve(options?: ServeOptions): Promise<ServedGateway>;
  /**
   * API keys of new accounts, whose limits are never reached. @param usdc starting balance; undefined: none.
   * @param url of another database
   */
  createAccounts(count: number, usdc?: string, url?: string): Promise<string[]>;
  /** Ends everything that was started and deletes its data. */
  close(): Promise<void>;
}

/** Starts it in a temporary folder. @param inMemory without durable commits, for short runs */
export async function startWorld(inMemory = false): Promise<World> {
  const closing: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    // All of it, whatever fails on the way: nothing may be left running.
    for (const end of closing.reverse()) await Promise.allSettled([end()]);
  };
  try {
    const memory = inMemory ? openMemoryFolder() : undefined;
    const dataDir = memory ?? (await mkdtemp(path.join(os.tmpdir(), "toolgate-bench-")));
    closing.push(() => rm(dataDir, { recursive: true, force: true, maxRetries: 10 }));
    await chmod(dataDir, 0o755); // as root, the server's account has to get in
    const [postgres, chain] = await Promise.all([
      startEmbeddedPostgres({ dataDir, settings: { max_connections: "200" } }).then((server) => {
        closing.push(() => server.stop());
        return server;
      }),
      ServerProcess.start("src/localchain/main.ts", { args: ["--port", "0"] }).then((server) => {
        closing.push(() => server.stop());
        return server;
      }),
    ]);
    const rpcUrl = chainReady.parse(chain.ready).url;
    const treasuryOwner = await makeTreasury(rpcUrl);
    const feePayerFile = await makeFeePayer(rpcUrl, path.join(dataDir, "fee-payer"));
    const env = {
      HOST: "127.0.0.1",
      PORT: "0",
      GRPC_PORT: "0",
      DATABASE_URL: postgres.url,
      SOLANA_RPC_URLS: rpcUrl,
      TREASURY_OWNER: treasuryOwner,
      LOG_LEVEL: "error",
      DRAIN_MS: "0",
      SANDBOX_ISOLATION: "off",
    };
    await migrate(postgres.url);
    await query(databaseUrl(postgres.url, "postgres"), `CREATE DATABASE ${TEMPLATE} TEMPLATE toolgate`);
    const postmaster = await postmasterOf(postgres.url);
    return {
      databaseUrl: postgres.url,
      ...{ rpcUrl, treasuryOwner, feePayerFile },
      async createDatabase(name) {
        await query(postgres.url, `CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`);
        return databaseUrl(postgres.url, name);
      },
      databaseCpu: async () => (await treeUse(postmaster))?.cpuSeconds,
      async serve({ profile, databaseUrl: url = postgres.url, env: own } = {}) {
        const nodeOptions = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`];
        const server = await ServerProcess.start("src/main.ts", {
          args: ["serve", "--json"],
          env: { ...env, DATABASE_URL: url, ...own },
          nodeOptions,
        });
        closing.push(() => server.stop());
        const { base_url, grpc_address } = gatewayReady.parse(server.ready);
        return { server, port: portOf(base_url), grpcPort: portOf(`http://${grpc_address}`) };
      },
      createAccounts: (count, usdc, url = postgres.url) => makeAccounts(url, count, usdc),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The process id of the server's first process. */
async function postmasterOf(url: string): Promise<number> {
  const { rows } = await query(url, "select current_setting('data_directory') as folder");
  return Number((await readFile(`${rows[0].folder}/postmaster.pid`, "utf8")).split("\n")[0]);
}

async function makeTreasury(rpcUrl: string): Promise<string> {
  const owner = Keypair.generate().publicKey.toBase58();
  await rpcRequest(rpcUrl, "local_mintUsdc", [owner, 0]);
  return owner;
}

/** @returns the file that it is kept in, in a folder that is its owner's alone */
async function makeFeePayer(rpcUrl: string, folder: string): Promise<string> {
  const wallet = Keypair.generate();
  await mkdir(folder, { mode: 0o700 });
  const file = path.join(folder, "fee-payer.json");
  await writeFile(file, JSON.stringify([...wallet.secretKey]), { mode: 0o600 });
  await rpcRequest(rpcUrl, "local_airdrop", [wallet.publicKey.toBase58(), FEES]);
  return file;
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}
