import type { Customer, Ground } from "./environment.ts";
import { QUOTE_TTL_SECONDS } from "./market.ts";
import type { Cast } from "./purchases.ts";
import type { Reference } from "./reference.ts";
import { FINALIZED_ABOVE } from "./scenarios.ts";

/** The minimum setting, so that abandoned runs are released soon. */
export const LEASE_MS = 1_000;

/** Initial balance of `rich` and `careless` customers, micro-USD. */
const OPENING = 1_000_000_000n;

/** Environment of the instances, without their database. */
export function instanceSettings(ground: Ground, rpcUrls: readonly string[]): Record<string, string> {
  return {
    HOST: "127.0.0.1",
    PORT: "0",
    GRPC_PORT: "0",
    SOLANA_RPC_URLS: rpcUrls.join(","),
    TREASURY_OWNER: ground.treasury.publicKey.toBase58(),
    INFERENCE_BASE_URL: ground.modelsUrl,
    FEE_PAYER_KEYPAIR: ground.feePayerFile,
    GASLESS_DAILY_LAMPORTS: "1000000000000",
    GASLESS_PER_ACCOUNT_HOURLY: "1000000",
    GASLESS_FAILURES_HOURLY: "1000000",
    RUN_LEASE_MS: String(LEASE_MS),
    QUOTE_TTL_SECONDS: String(QUOTE_TTL_SECONDS),
    FINALIZED_ABOVE_MICROUSD: String(FINALIZED_ABOVE),
    PAYMENT_WAIT_MS: "1500",
    WATCH_INTERVAL_MS: "500",
    LOG_LEVEL: "warn",
    SANDBOX_ISOLATION: "off",
  };
}

/** Opens the accounts of the customers. */
export async function openCast(ground: Ground, reference: Reference): Promise<Cast> {
  const customers = async (count: number, opening: bigint): Promise<Customer[]> => {
    const opened = await Promise.all(Array.from({ length: count }, () => ground.customer(opening)));
    for (const customer of opened) reference.open(customer);
    return opened;
  };
  return {
    rich: await customers(8, OPENING),
    payers: await customers(8, 0n),
    careless: await customers(2, OPENING),
  };
}
