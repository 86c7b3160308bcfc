import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import {
  Connection,
  PublicKey,
  TransactionMessage,
  VersionedTransaction,
  type Keypair,
  type TransactionInstruction,
} from "@solana/web3.js";
import { readConfig, requireServeConfig } from "../../src/config/config.ts";
import { DEFAULT_SCOPES, type Scope } from "../../src/domain/accounts/scope.ts";
import { cellOf } from "../../src/domain/core/ids.ts";
import { startGateway, type Gateway } from "../../src/gateway.ts";
import { startLocalChain, type LocalChain } from "../../src/localchain/index.ts";
import type { Log } from "../../src/domain/core/log.ts";
import { createLogger } from "../../src/log.ts";
import { openPostgres, type Postgres } from "../../src/postgres/index.ts";
import { paymentInstructions } from "../../src/solana/deposits/payment-instructions.ts";
import { systemClock, systemRandom } from "../../src/system.ts";
import { query } from "./database-server.ts";
import { withOperatorActs } from "./operator-acts.ts";
import type { TestDatabase } from "./postgres.ts";
import { LOG_FILE, record, secret } from "./record.ts";

/** A caller with its own account, key and wallet. */
export interface Agent {
  accountId: string;
  keyId: string;
  apiKey: string;
  wallet: Keypair;
}

/** Initial funds of an agent. */
export interface AgentOptions {
  /** Balance in micro-USD. */
  balance?: bigint;
  scopes?: readonly Scope[];
  /** Requests per minute and at once; high unless the test is about the limit. */
  ratePerMinute?: number;
  burst?: number;
  operator?: boolean;
}

/** An answer over HTTP/JSON. */
export interface Answer {
  status: number;
  headers: Headers;
  // The tests read bodies of every shape.
  body: Body;
}
// oxlint-disable-next-line typescript/no-explicit-any
type Body = any;

/** Dependencies of gateways: a database with the current schema and a chain with a treasury. */
export interface Ground {
  chain: LocalChain;
  /** The wallet that owns the treasury's token account. */
  treasury: Keypair;
  database: TestDatabase;
  /** Corrections by it are operators' actions. */
  postgres: Postgres;
  /** The same without operators' actions. */
  ports: Postgres;
  /** Pays the fees of relayed payments. */
  feePayer: Keypair;
  /** Environment of an instance with these dependencies. */
  settings: Record<string, string>;
  agent(options?: AgentOptions): Promise<Agent>;
  /** Sends USDC to the treasury with a memo, as the agent, and returns the transaction's signature. */
  pay(agent: Agent, amount: bigint, memo: string): Promise<string>;
  /** Sends any instructions, signed by the agent and others. */
  send(
    agent: Agent,
    instructions: readonly TransactionInstruction[],
    ...signers: readonly Keypair[]
  ): Promise<string>;
  /** The names of every violated invariant of the ledger. */
  violations(): Promise<string[]>;
  close(): Promise<void>;
}

/** A gateway with real dependencies: PostgreSQL, the local chain, all transports. */
export interface World extends Ground {
  gateway: Gateway;
  /** More instances on the same database and chain. */
  startAnother(settings?: Record<string, string>): Promise<Gateway>;
  /** POSTs JSON to a path of the gateway. */
  post(
    agent: Agent | undefined,
    path: string,
    body: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>;
  get(agent: Agent | undefined, path: string, headers?: Record<string, string>): Promise<Answer>;
  /** POST /v1/mcp/tools/call */
  call(
    agent: Agent,
    tool: string,
    params: object,
    extra?: { headers?: Record<string, string>; body?: object },
  ): Promise<Answer>;
}

/**
 * Creates the environment of a test; `settings` are environment variables of the instances.
 * @param databaseUrl another database with the current schema; default: a new one on this run's server
 * @param slotMs slot time; a blockhash is valid for 150 slots, which on a busy machine can be too short to
 * sign with
 */
export async function startGround(
  settings: Record<string, string> = {},
  databaseUrl?: string,
  slotMs = 50,
): Promise<Ground> {
  const [database, chain] = await Promise.all([
    databaseUrl === undefined
      ? newDatabase()
      : { url: databaseUrl, servingUrl: databaseUrl, drop: async () => {} },
    startLocalChain({ port: 0, slotMs }),
  ]);
  const treasury = chain.controls.createWallet({ microUsd: 0n });
  const feePayer = chain.controls.createWallet();
  const keyFolder = mkdtempSync(path.join(tmpdir(), "toolgate-fee-payer-"));
  const keyFile = path.join(keyFolder, "fee-payer.json");
  const keyText = secret("the fee payer's key", JSON.stringify([...feePayer.secretKey]));
  writeFileSync(keyFile, keyText, { mode: 0o600 });
  secret("the fee payer's secret key", feePayer.secretKey);
  const environment = {
    HOST: "127.0.0.1",
    PORT: "0",
    GRPC_PORT: "0",
    // Everything is served, and prepared, with the rights that production has.
    DATABASE_URL: database.servingUrl,
    // With a key, as providers have them.
    SOLANA_RPC_URLS: `${chain.url}/?api-key=${secret("an RPC key", `rpc-${randomUUID()}`)}`,
    INFERENCE_API_KEY: secret("an inference key", `inference-${randomUUID()}`),
    TREASURY_OWNER: treasury.publicKey.toBase58(),
    // Gasless is on; with "" it is off.
    FEE_PAYER_KEYPAIR: keyFile,
    PAYMENT_WAIT_MS: "1500",
    DRAIN_MS: "0",
    SHUTDOWN_GRACE_MS: "5000",
    // One run of the treasury watch at start: other tests count chain queries.
    WATCH_INTERVAL_MS: "600000",
    AUDIT_INTERVAL_SECONDS: "0",
    // All tests sign in from one address.
    NEW_ACCOUNTS_PER_DAY: "1000000",
    // Only tests of the sandbox pay for its processes.
    SANDBOX_ISOLATION: "off",
    ...settings,
  };
  const opened = await openPostgres({
    url: database.servingUrl,
    instanceId: randomUUID(),
    clock: systemClock,
    random: systemRandom,
    leaseMs: 15_000,
    poolSize: 4,
    cell: cellOf(Number(settings.CELL ?? 0)),
    log: testLog(),
  });
  const postgres = withOperatorActs(opened);
  for (const url of [database.url, database.servingUrl]) secret("a database password", new URL(url).password);
  const { rows: sealing } = await query(
    database.url,
    `select secret from sealing_key union all select secret from api_key_secret
       union all select secret from signing_key`,
  );
  for (const row of sealing) secret("a sealing key", Buffer.from(row.secret));
  const payTo = chain.controls.usdcAccount(treasury.publicKey).toBase58();
  return {
    chain,
    treasury,
    feePayer,
    database,
    postgres,
    ports: opened,
    settings: environment,
    agent: (options = {}) => makeAgent(postgres, chain, options),
    pay: (agent, amount, memo) =>
      sendInstructions(
        chain,
        agent.wallet,
        paymentInstructions({ payer: agent.wallet.publicKey.toBase58(), payTo, amount, memo }),
      ),
    send: (agent, instructions, ...signers) => sendInstructions(chain, agent.wallet, instructions, signers),
    async violations() {
      const lines = await postgres.audit(undefined, { whole: true });
      return lines.filter((line) => line.violations > 0n).map((line) => line.name);
    },
    async close() {
      await postgres.close();
      await chain.close();
      await database.drop();
      rmSync(keyFolder, { recursive: true, force: true });
    },
  };
}

/**
 * Starts a world; `settings` are the gateway's environment, slots last as in {@link startGround}.
 * @param log of the gateways
 */
export async function startWorld(
  settings: Record<string, string> = {},
  slotMs?: number,
  log: Log = testLog(),
): Promise<World> {
  const ground = await startGround(settings, undefined, slotMs);
  const start = (more: Record<string, string> = {}) => startHere({ ...ground.settings, ...more }, log);
  const gateway = await start();
  const others: Gateway[] = [];
  return {
    ...ground,
    gateway,
    async startAnother(more) {
      const another = await start(more);
      others.push(another);
      return another;
    },
    post: (agent, path, body, headers) =>
      request(gateway, agent, path, { method: "POST", body: JSON.stringify(body) }, headers),
    get: (agent, path, headers) => request(gateway, agent, path, { method: "GET" }, headers),
    call: (agent, tool, params, extra = {}) =>
      request(
        gateway,
        agent,
        "/v1/mcp/tools/call",
        { method: "POST", body: JSON.stringify({ tool, params, ...extra.body }) },
        extra.headers,
      ),
    async close() {
      for (const one of [gateway, ...others]) await one.close();
      await ground.close();
    },
  };
}

/** Starts a gateway in this process. */
export const startHere = (settings: Record<string, string>, log: Log = testLog()): Promise<Gateway> =>
  startGateway(requireServeConfig(readConfig(settings)), log);

/** Loaded for tests only: labs run without Vitest. */
async function newDatabase(): Promise<TestDatabase> {
  const { createTestDatabase } = await import("./postgres.ts");
  return createTestDatabase();
}

/** The level of TEST_LOG; by default everything to the run's record, or nothing. */
function testLog() {
  const level = process.env["TEST_LOG"];
  if (level !== undefined || LOG_FILE === undefined) return createLogger(level ?? "silent", { secrets: [] });
  return createLogger("trace", { secrets: [], file: LOG_FILE });
}

/** The X-Payment header for a transfer. */
export function xPayment(tx: string, quoteId: string): Record<string, string> {
  const proof = Buffer.from(JSON.stringify({ tx, quote_id: quoteId })).toString("base64url");
  return { "X-Payment": secret("an X-Payment header", proof) };
}

/** The short memo form. */
export function memoOf(quote: { quote_id: string }): string {
  return `svc:${quote.quote_id}`;
}

async function makeAgent(postgres: Postgres, chain: LocalChain, options: AgentOptions): Promise<Agent> {
  const wallet = chain.controls.createWallet({ microUsd: 1_000_000_000n });
  secret("a wallet's secret key", wallet.secretKey);
  const { accountId } = await postgres.accounts.create(wallet.publicKey.toBase58());
  await postgres.accounts.setTier(accountId, {
    ratePerMinute: options.ratePerMinute ?? 1_000_000,
    burst: options.burst ?? 100_000,
  });
  if (options.balance !== undefined && options.balance > 0n) {
    await postgres.accounts.adjust({
      accountId,
      amount: options.balance,
      reason: "test",
      idempotencyKey: randomUUID(),
    });
  }
  if (options.operator) await postgres.accounts.setOperator(accountId, true);
  const { key, secret: apiKey } = await postgres.apiKeys.create({
    accountId,
    name: "test",
    scopes: options.scopes ?? DEFAULT_SCOPES,
  });
  return { accountId, keyId: key.keyId, apiKey: secret("an API key", apiKey), wallet };
}

/** A request to any instance. */
export async function request(
  gateway: Pick<Gateway, "baseUrl">,
  agent: Agent | undefined,
  path: string,
  init: RequestInit,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(gateway.baseUrl + path, {
    ...init,
    headers: {
      ...(agent && { Authorization: `Bearer ${agent.apiKey}` }),
      ...(init.method === "POST" && { "Content-Type": "application/json" }),
      ...headers,
    },
  });
  const text = await response.text();
  if (response.status >= 400) record(text);
  return {
    status: response.status,
    headers: response.headers,
    body: text === "" ? undefined : JSON.parse(text),
  };
}

async function sendInstructions(
  chain: LocalChain,
  payer: Keypair,
  instructions: readonly TransactionInstruction[],
  signers: readonly Keypair[] = [],
): Promise<string> {
  const connection = new Connection(chain.url, { commitment: "confirmed", wsEndpoint: chain.wsUrl });
  const { blockhash } = await connection.getLatestBlockhash();
  const message = new TransactionMessage({
    payerKey: new PublicKey(payer.publicKey),
    recentBlockhash: blockhash,
    instructions: [...instructions],
  });
  const transaction = new VersionedTransaction(message.compileToV0Message());
  transaction.sign([payer, ...signers]);
  const signature = await connection.sendTransaction(transaction, { skipPreflight: true });
  chain.chain.advance(2);
  return signature;
}
