import { randomUUID } from "node:crypto";
import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import type { Keypair } from "@solana/web3.js";
import pg from "pg";
import { z } from "zod";
import { DEFAULT_SCOPES } from "../../src/domain/accounts/scope.ts";
import { startChild } from "../../src/dev/child.ts";
import { createLogger } from "../../src/log.ts";
import { openPostgres, type Postgres } from "../../src/postgres/index.ts";
import { migrate } from "../../src/postgres/database/migrate.ts";
import { systemClock, systemRandom } from "../../src/system.ts";
import { ROOT } from "../tooling/command.ts";
import { openMemoryFolder } from "../tooling/memory-folder.ts";
import { ChainClient } from "./chain-client.ts";
import { startDatabase, type GroundDatabase } from "./database.ts";
import { openModelServer } from "./model-server.ts";

/** Slot time of the chain, ms: payments are confirmed one slot later and finalized 32 later. */
const SLOT_MS = 100;

/** Balance of every payer, micro-USD: more than a run spends. */
const FUNDS = 1_000_000_000_000;

const chainReady = z.object({ url: z.string() });

/** An account with a key and a wallet. */
export interface Customer {
  /** `wallet:…` for a wallet without a key, whose account its first payment creates. */
  readonly accountId: string;
  readonly apiKey: string | undefined;
  readonly wallet: Keypair;
  /** Initial balance, micro-USD. */
  readonly opening: bigint;
}

/** Queries the database. */
export type Ask = <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) => Promise<Row[]>;

/** Dependencies of instances without injected faults: a durable PostgreSQL and the local chain. */
export interface Ground {
  readonly databaseUrl: string;
  readonly rpcUrl: string;
  readonly chain: ChainClient;
  readonly treasury: Keypair;
  /** Pays the fees of gasless payments; its key file. */
  readonly feePayer: Keypair;
  readonly feePayerFile: string;
  /** Base URL of the model server. */
  readonly modelsUrl: string;
  /** The ports, for set-up and audit. */
  readonly postgres: Postgres;
  /** A temporary folder, deleted after the run. */
  readonly scratch: string;
  /** A copy of the sources, so that edits during the run change nothing. */
  readonly sources: string;
  /** Runs one statement. */
  readonly rows: Ask;
  /** Runs statements on one snapshot. */
  snapshot<Result>(look: (rows: Ask) => Promise<Result>): Promise<Result>;
  customer(opening: bigint): Promise<Customer>;
  /** Crashes PostgreSQL with an immediate shutdown (SIGQUIT), restarts it and waits for recovery. */
  crashDatabase(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts everything in a temporary folder.
 * @param open starts the database in a folder
 * @throws the signal's reason when aborted, after stopping everything
 */
export async function startGround(
  signal: AbortSignal,
  open: (folder: string) => Promise<GroundDatabase> = startDatabase,
): Promise<Ground> {
  const closing: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    // Cleans up everything despite errors; the folder, created first, goes last.
    const [remove, ...others] = closing.splice(0);
    await Promise.allSettled(others.map((end) => end()));
    await remove?.();
  };
  try {
    // The kernel keeps written data after a crash of PostgreSQL, in memory as on disk.
    const dataDir = openMemoryFolder() ?? (await mkdtemp(path.join(os.tmpdir(), "toolgate-faults-")));
    closing.push(() => rm(dataDir, { recursive: true, force: true, maxRetries: 10 }));
    await chmod(dataDir, 0o755); // As root, the server's account needs access.
    const sources = await copySources(path.join(dataDir, "sources"));
    signal.throwIfAborted();
    const server = await open(dataDir);
    closing.push(() => server.stop());
    signal.throwIfAborted();
    await migrate(server.url);
    signal.throwIfAborted();
    const child = await startChild("src/localchain/main.ts", ["--port", "0", "--slot-ms", String(SLOT_MS)]);
    closing.push(() => child.stop());
    signal.throwIfAborted();
    const rpcUrl = chainReady.parse(child.ready).url;
    const chain = new ChainClient(rpcUrl);
    const models = await openModelServer();
    closing.push(() => models.close());
    const feePayer = await chain.wallet(0);
    const feePayerFile = path.join(dataDir, "fee-payer.json");
    await writeFile(feePayerFile, JSON.stringify([...feePayer.secretKey]), { mode: 0o600 });
    const pool = openPool(server.url);
    closing.push(() => pool.end());
    const postgres = await openPorts(server.url);
    closing.push(() => postgres.close());
    return {
      databaseUrl: server.url,
      rpcUrl,
      chain,
      treasury: await chain.wallet(0),
      feePayer,
      feePayerFile,
      modelsUrl: models.url,
      postgres,
      sources,
      scratch: path.join(dataDir, "scratch"),
      rows: async (text, values) => (await pool.query({ text, values: values ?? [] })).rows,
      snapshot: (look) => onSnapshot(pool, look),
      customer: async (opening) => newCustomer(postgres, await chain.wallet(FUNDS), opening),
      crashDatabase: () => server.crash(),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Copies the sources of an instance.
 * @returns the folder
 */
async function copySources(folder: string): Promise<string> {
  await mkdir(folder);
  for (const part of [
    "package.json",
    "src",
    "gen",
    "proto",
    path.join("test", "faults"),
    path.join("test", "tooling"),
  ])
    await cp(path.join(ROOT, part), path.join(folder, part), { recursive: true });
  await symlink(path.join(ROOT, "node_modules"), path.join(folder, "node_modules"), "dir");
  return folder;
}

async function newCustomer(postgres: Postgres, wallet: Keypair, opening: bigint): Promise<Customer> {
  const { accountId } = await postgres.accounts.create(wallet.publicKey.toBase58());
  await postgres.accounts.setTier(accountId, { ratePerMinute: 60_000_000, burst: 1_000_000 });
  if (opening > 0n) {
    const idempotencyKey = randomUUID();
    await postgres.accounts.adjust({ accountId, amount: opening, reason: "opening balance", idempotencyKey });
  }
  const { secret } = await postgres.apiKeys.create({ accountId, name: "faults", scopes: DEFAULT_SCOPES });
  return { accountId, apiKey: secret, wallet, opening };
}

async function onSnapshot<Result>(pool: pg.Pool, look: (rows: Ask) => Promise<Result>): Promise<Result> {
  const client = await pool.connect();
  try {
    await client.query("begin isolation level repeatable read read only");
    return await look(async (text, values) => (await client.query({ text, values: values ?? [] })).rows);
  } finally {
    await client.query("rollback").catch(() => {});
    client.release();
  }
}

function openPorts(url: string): Promise<Postgres> {
  return openPostgres({
    url,
    instanceId: randomUUID(),
    clock: systemClock,
    random: systemRandom,
    leaseMs: 15_000,
    poolSize: 2,
    log: createLogger("silent", { secrets: [] }),
  });
}

function openPool(connectionString: string): pg.Pool {
  const types = new pg.TypeOverrides();
  types.setTypeParser(20, BigInt);
  const pool = new pg.Pool({ connectionString, max: 2, types });
  pool.on("error", () => {}); // the database is crashed on purpose
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}
