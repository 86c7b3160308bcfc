import { spawn } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { Keypair } from "@solana/web3.js";
import { z } from "zod";
import { startEmbeddedPostgres } from "../../src/dev/embedded-postgres/index.ts";
import { migrate } from "../../src/postgres/migrate.ts";
import { databaseUrl, query } from "../support/database-server.ts";
import { ROOT } from "../tooling/command.ts";
import { ServerProcess } from "./server-process.ts";

const chainReady = z.object({ url: z.string() });
const gatewayReady = z.object({ base_url: z.string(), grpc_address: z.string() });
const madeAccount = z.object({ account_id: z.string(), api_key: z.string() });

/** Requests per minute and at once of every account here: the limit is asked, and never reached. */
const UNLIMITED = ["--rate", "10000000", "--burst", "10000000"];

/** The gateway as `serve` runs it. */
export interface ServedGateway {
  readonly server: ServerProcess;
  readonly httpPort: number;
  readonly grpcPort: number;
}

/** How a gateway is started. */
export interface ServeOptions {
  /** Folder that its CPU profile goes to. */
  readonly profile?: string | undefined;
  /** Another database of the same server, from `createDatabase`. */
  readonly databaseUrl?: string;
  /** Settings of its own, over those of the world. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The outside world of the gateways under measurement: PostgreSQL with durable commits, the local chain, processes all. */
export interface World {
  /** The superuser's connection string of the gateway's database. */
  readonly databaseUrl: string;
  /** The local chain's address. */
  readonly rpcUrl: string;
  /** The wallet that is paid, base58. */
  readonly treasuryOwner: string;
  /** Another database on the same server, migrated alike. */
  createDatabase(name: string): Promise<string>;
  /** `node src/main.ts serve`. */
  serve(options?: ServeOptions): Promise<ServedGateway>;
  /** API keys of new accounts, made by `accounts create`. @param usdc starting balance; undefined: none. @param url of another database */
  createAccounts(count: number, usdc?: string, url?: string): Promise<string[]>;
  /** Ends everything that was started and deletes its data. */
  close(): Promise<void>;
}

/** Starts it in a temporary folder. */
export async function startWorld(): Promise<World> {
  const closing: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    // All of it, whatever fails on the way: nothing may be left running.
    for (const end of closing.reverse()) await Promise.allSettled([end()]);
  };
  try {
    const dataDir = await mkdtemp(path.join(os.tmpdir(), "toolgate-bench-"));
    closing.push(() => rm(dataDir, { recursive: true, force: true, maxRetries: 10 }));
    await chmod(dataDir, 0o755); // as root, the server's account has to get in
    const postgres = await startEmbeddedPostgres({ dataDir, settings: { max_connections: "200" } });
    closing.push(() => postgres.stop());
    const chain = await ServerProcess.start("src/localchain/main.ts", { args: ["--port", "0"] });
    closing.push(() => chain.stop());
    const rpcUrl = chainReady.parse(chain.ready).url;
    const treasuryOwner = await makeTreasury(rpcUrl);
    const env = {
      HOST: "127.0.0.1",
      PORT: "0",
      GRPC_PORT: "0",
      DATABASE_URL: postgres.url,
      SOLANA_RPC_URLS: rpcUrl,
      TREASURY_OWNER: treasuryOwner,
      LOG_LEVEL: "error",
      SANDBOX_ISOLATION: "off",
    };
    await migrate(postgres.url);
    return {
      databaseUrl: postgres.url,
      rpcUrl,
      treasuryOwner,
      async createDatabase(name) {
        await query(postgres.url, `CREATE DATABASE ${name}`);
        const url = databaseUrl(postgres.url, name);
        await migrate(url);
        return url;
      },
      async serve({ profile, databaseUrl: url = postgres.url, env: own } = {}) {
        const nodeOptions = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`];
        const server = await ServerProcess.start("src/main.ts", {
          args: ["serve", "--json"],
          env: { ...env, DATABASE_URL: url, ...own },
          nodeOptions,
        });
        closing.push(() => server.stop());
        const { base_url, grpc_address } = gatewayReady.parse(server.ready);
        return { server, httpPort: portOf(base_url), grpcPort: portOf(`http://${grpc_address}`) };
      },
      async createAccounts(count, usdc, url = postgres.url) {
        const funds = usdc === undefined ? [] : ["--usdc", usdc];
        const output = await runCommand(
          ["accounts", "create", "--count", String(count), ...UNLIMITED, ...funds, "--json"],
          { ...env, DATABASE_URL: url },
        );
        return output
          .trim()
          .split("\n")
          .map((line) => madeAccount.parse(JSON.parse(line)).api_key);
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A wallet whose USDC token account is there. */
async function makeTreasury(rpcUrl: string): Promise<string> {
  const owner = Keypair.generate().publicKey.toBase58();
  const response = await fetch(rpcUrl, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "local_mintUsdc", params: [owner, 0] }),
  });
  z.object({ result: z.string() }).parse(await response.json());
  return owner;
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

/** Runs a command of the project's and gives what it printed. */
async function runCommand(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  const child = spawn(process.execPath, ["src/main.ts", ...args], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const code = await new Promise((resolve) => child.once("close", resolve));
  if (code !== 0) throw new Error(`${args.join(" ")} ended with ${String(code)}`);
  return output;
}
