import { chmod, mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { TransactionMessage, VersionedTransaction, type Keypair } from "@solana/web3.js";
import pg from "pg";
import { decodeTransaction } from "../../src/localchain/wire-transaction.ts";
import { migrate } from "../../src/postgres/database/migrate.ts";
import { paymentInstructions } from "../../src/solana/deposits/payment-instructions.ts";
import { startGround as startWorld, type Ground as World } from "../support/world.ts";
import { openMemoryFolder } from "../tooling/memory-folder.ts";
import { startDatabase, type LabDatabase } from "./database.ts";
import { openModelServer } from "./model-server.ts";
import type { LabRun } from "./run.ts";

/** Slot time of the chain, ms: payments are confirmed one slot later and finalized 32 later. */
const SLOT_MS = 100;

/** More than the 600 slots after which an unknown payment is reversed. */
const SETTLED_SLOTS = 700;

/** Maximum age of a payment that a fork removes: half the time to finality. */
const FORKED_SLOTS = 16;

/** The minimum setting, so that abandoned runs are released soon. */
export const LEASE_MS = 1_000;

/** Amount from which payments must be finalized, micro-USD. */
export const FINALIZED_ABOVE = 3_000n;

/** Price of the calls with a fixed one, micro-USD. */
export const PRICE = 1_000n;

/** Lifetime of quotes, s. */
export const QUOTE_TTL_SECONDS = 10;

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

/** Dependencies of a lab's gateways: a durable PostgreSQL, the local chain, a model server. */
export interface Ground<Database extends LabDatabase = LabDatabase> extends Pick<
  World,
  "chain" | "treasury" | "feePayer" | "postgres"
> {
  readonly database: Database;
  /** Environment of the gateways. */
  readonly settings: Readonly<Record<string, string>>;
  /** A temporary folder, deleted after the run. */
  readonly folder: string;
  /** The treasury's token account, base58. */
  readonly payTo: string;
  /** Runs one statement. */
  readonly rows: Ask;
  /** Runs statements on one snapshot. */
  snapshot<Result>(look: (rows: Ask) => Promise<Result>): Promise<Result>;
  customer(opening: bigint): Promise<Customer>;
  /** Sends USDC to the treasury. @returns the signature */
  pay(payer: Keypair, amount: bigint, memo: string): string;
  /** Removes a payment from the chain; false when it may be finalized. */
  drop(tx: string): boolean;
  /** Advances the chain until everything is finalized and forked-out payments can never return. */
  settle(): void;
}

/**
 * Starts everything in a temporary folder.
 * @param open starts the database in a folder
 * @param prepare creates its tables
 */
export async function openGround(run: LabRun): Promise<Ground>;
export async function openGround<Database extends LabDatabase>(
  run: LabRun,
  open: (folder: string) => Promise<Database>,
  prepare?: (url: string) => Promise<unknown>,
): Promise<Ground<Database>>;
export async function openGround(
  run: LabRun,
  open: (folder: string) => Promise<LabDatabase> = startDatabase,
  prepare: (url: string) => Promise<unknown> = migrate,
): Promise<Ground> {
  const folder = await run.open(makeFolder, (made) =>
    rm(made, { recursive: true, force: true, maxRetries: 10 }),
  );
  const database = await run.open(
    () => open(folder),
    (server) => server.stop(),
  );
  const { url } = database;
  await prepare(url);
  const models = await run.open(openModelServer, (server) => server.close());
  const world = await run.open(
    () => startWorld(settingsOf(models.url), url, SLOT_MS),
    (opened) => opened.close(),
  );
  const pool = await run.open(
    async () => openPool(url),
    (opened) => opened.end(),
  );
  const { chain, treasury, feePayer, postgres, settings } = world;
  const payTo = chain.controls.usdcAccount(treasury.publicKey).toBase58();
  return {
    ...{ chain, treasury, feePayer, postgres, settings, database, folder, payTo },
    rows: async (text, values) => (await pool.query({ text, values: values ?? [] })).rows,
    snapshot: (look) => onSnapshot(pool, look),
    customer: async (opening) => ({ ...(await world.agent({ balance: opening })), opening }),
    pay(payer, amount, memo) {
      const { slots } = chain.chain;
      const order = { payer: payer.publicKey.toBase58(), payTo, amount, memo };
      const message = new TransactionMessage({
        payerKey: payer.publicKey,
        recentBlockhash: slots.blockhash(slots.current),
        instructions: paymentInstructions(order),
      });
      const transaction = new VersionedTransaction(message.compileToV0Message());
      transaction.sign([payer]);
      const sent = decodeTransaction(transaction.serialize());
      chain.chain.submit(sent);
      return sent.signature;
    },
    drop(tx) {
      const { history, slots } = chain.chain;
      const { slot = 0 } = history.get(tx) ?? {};
      return slots.current - slot <= FORKED_SLOTS && chain.chain.drop(tx);
    },
    settle: () => chain.chain.advance(SETTLED_SLOTS),
  };
}

function settingsOf(modelsUrl: string): Record<string, string> {
  return {
    INFERENCE_BASE_URL: modelsUrl,
    GASLESS_DAILY_LAMPORTS: "1000000000000",
    GASLESS_PER_ACCOUNT_HOURLY: "1000000",
    GASLESS_FAILURES_HOURLY: "1000000",
    RUN_LEASE_MS: String(LEASE_MS),
    QUOTE_TTL_SECONDS: String(QUOTE_TTL_SECONDS),
    FINALIZED_ABOVE_MICROUSD: String(FINALIZED_ABOVE),
    WATCH_INTERVAL_MS: "500",
    LOG_LEVEL: "warn",
  };
}

/** In memory where possible: the kernel keeps written data after a crash of PostgreSQL, as on disk. */
async function makeFolder(): Promise<string> {
  const folder = openMemoryFolder() ?? (await mkdtemp(path.join(os.tmpdir(), "toolgate-lab-")));
  await chmod(folder, 0o755); // As root, the server's account needs access.
  return folder;
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

function openPool(connectionString: string): pg.Pool {
  const types = new pg.TypeOverrides();
  types.setTypeParser(20, BigInt);
  const pool = new pg.Pool({ connectionString, max: 2, types });
  pool.on("error", () => {}); // The database is crashed on purpose.
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}
