import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Keypair } from "@solana/web3.js";
import { z } from "zod";

const secretKey = z.array(z.number().int().min(0).max(255)).length(64);
const stateSchema = z.object({
  treasury: secretKey,
  wallet: secretKey,
  fee_payer: secretKey.optional(),
  api_key: z.string().optional(),
});

/** State of the development setup, kept between runs. */
export interface DevState {
  /** Owns the treasury's token account. */
  treasury: Keypair;
  /** The demo agent's wallet. */
  wallet: Keypair;
  /** Pays the fees of relayed payments. */
  feePayer: Keypair;
  /** The demo agent's API key; undefined until the first run has made it. */
  apiKey: string | undefined;
}

/** Output of `dev` when it is ready, for other tools. */
export interface DevJson {
  base_url: string;
  grpc_address: string;
  console_url: string;
  rpc_url: string;
  database_url: string;
  api_key: string;
  account_id: string;
  wallet_secret_key: number[];
  treasury_owner: string;
  pay_to: string;
  usdc_mint: string;
  fee_payer: string;
  /** Its key file. */
  fee_payer_keypair: string;
}

/** Reads the state of an earlier run, or creates a new one. */
export function loadState(dataDir: string): DevState {
  let text: string;
  try {
    text = readFileSync(stateFile(dataDir), "utf8");
  } catch {
    const state = {
      treasury: Keypair.generate(),
      wallet: Keypair.generate(),
      feePayer: Keypair.generate(),
      apiKey: undefined,
    };
    saveState(dataDir, state);
    return state;
  }
  const state = stateSchema.parse(JSON.parse(text));
  return {
    treasury: Keypair.fromSecretKey(Uint8Array.from(state.treasury)),
    wallet: Keypair.fromSecretKey(Uint8Array.from(state.wallet)),
    feePayer: state.fee_payer ? Keypair.fromSecretKey(Uint8Array.from(state.fee_payer)) : Keypair.generate(),
    apiKey: state.api_key,
  };
}

export function saveState(dataDir: string, state: DevState): void {
  writePrivately(stateFile(dataDir), {
    treasury: [...state.treasury.secretKey],
    wallet: [...state.wallet.secretKey],
    fee_payer: [...state.feePayer.secretKey],
    api_key: state.apiKey,
  });
}

/** Writes the fee payer's key as `solana-keygen` does. @returns the file, for FEE_PAYER_KEYPAIR */
export function writeFeePayer(dataDir: string, { feePayer }: DevState): string {
  const file = path.join(dataDir, "fee-payer.json");
  writePrivately(file, [...feePayer.secretKey]);
  return file;
}

/** Writes `dev.json`, with addresses and credentials, when everything is ready. */
export function writeDevJson(dataDir: string, content: DevJson): void {
  writePrivately(path.join(dataDir, "dev.json"), content);
}

function stateFile(dataDir: string): string {
  return path.join(dataDir, "state.json");
}

/** Atomic, and readable by its owner only. */
function writePrivately(file: string, content: object): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(`${file}.new`, `${JSON.stringify(content, undefined, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
