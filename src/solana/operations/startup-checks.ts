import { z } from "zod";
import { MAINNET_GENESIS_HASH, TOKEN_PROGRAM, USDC_DECIMALS, printable } from "../core/treasury.ts";
import type { Treasury } from "../core/treasury.ts";
import type { Endpoint } from "../rpc/endpoint.ts";
import { RpcError, RpcFailure, MalformedAnswer } from "../rpc/rpc-failure.ts";
import type { SolanaRpc } from "../rpc/rpc.ts";
import { base58 } from "@scure/base";

/** Why payments cannot be verified through an endpoint. */
export interface ChainProblem {
  /** Host and port. */
  readonly endpoint: string;
  readonly code:
    | "UNREACHABLE"
    | "WRONG_CLUSTER"
    | "NO_HISTORY"
    | "NO_TREASURY_ACCOUNT"
    | "TREASURY_ACCOUNT_UNFIT"
    | "WRONG_MINT";
  readonly problem: string;
}

const accountSchema = z
  .object({ owner: z.string(), data: z.tuple([z.string(), z.literal("base64")]) })
  .nullable();
const accountsSchema = z.object({ value: z.tuple([accountSchema, accountSchema]) });
type AccountJson = z.infer<typeof accountSchema>;

/** Signature of no transaction: 64 zero bytes. */
const NO_SIGNATURE = "1".repeat(64);

/**
 * Checks every endpoint: it is mainnet, keeps transactions, and the treasury's token account can receive
 * USDC.
 * @returns all problems of all endpoints; empty: payments can be verified
 */
export async function checkChain(
  rpc: SolanaRpc,
  treasury: Treasury,
  signal: AbortSignal,
): Promise<ChainProblem[]> {
  const problems = await Promise.all(
    rpc.endpoints.map((endpoint) => checkEndpoint(endpoint, treasury, signal)),
  );
  return problems.flat();
}

/** Hosts of a local chain, as in development. */
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?$/;

export function adviseOnEndpoints({ endpoints: [first, ...others] }: SolanaRpc): string[] {
  if (!first || others.length > 0 || LOOPBACK.test(first.host)) return [];
  return [
    `${first.host} is the only endpoint, so that its word alone decides which payments are credited ` +
      "and which are taken back; name a second one, of another provider",
  ];
}

async function checkEndpoint(
  endpoint: Endpoint,
  treasury: Treasury,
  signal: AbortSignal,
): Promise<ChainProblem[]> {
  try {
    const problems = [
      ...(await checkCluster(endpoint, signal)),
      ...(await checkAccounts(endpoint, treasury, signal)),
    ];
    return [...problems, ...(await checkHistory(endpoint, signal))];
  } catch (error) {
    if (!(error instanceof RpcFailure) && !(error instanceof RpcError)) throw error;
    return [
      {
        endpoint: endpoint.host,
        code: "UNREACHABLE",
        problem: `${error.message}; check the URL, its key and the network`,
      },
    ];
  }
}

async function checkCluster(endpoint: Endpoint, signal: AbortSignal): Promise<ChainProblem[]> {
  const hash = await endpoint.ask({
    method: "getGenesisHash",
    params: [],
    read: (result) => z.string().parse(result),
    signal,
  });
  if (hash === MAINNET_GENESIS_HASH) return [];
  const problem =
    `is not Solana mainnet (genesis hash ${untrusted(hash)}); only mainnet is supported, use a mainnet ` +
    "RPC";
  return [{ endpoint: endpoint.host, code: "WRONG_CLUSTER", problem }];
}

/** Detects nodes without transactions or without version 1; needs no real transaction. */
async function checkHistory(endpoint: Endpoint, signal: AbortSignal): Promise<ChainProblem[]> {
  const params = [
    NO_SIGNATURE,
    { encoding: "json", commitment: "confirmed", maxSupportedTransactionVersion: 1 },
  ];
  try {
    await endpoint.ask({
      method: "getTransaction",
      params,
      read: (result) => z.null().parse(result),
      signal,
    });
    return [];
  } catch (error) {
    if (!(error instanceof RpcFailure) && !(error instanceof RpcError)) throw error;
    const reason = `getTransaction does not work (${error.message})`;
    const problem = `${reason}; use an RPC that serves transaction history`;
    return [{ endpoint: endpoint.host, code: "NO_HISTORY", problem }];
  }
}

async function checkAccounts(
  endpoint: Endpoint,
  treasury: Treasury,
  signal: AbortSignal,
): Promise<ChainProblem[]> {
  const params = [[treasury.tokenAccount, treasury.mint], { encoding: "base64", commitment: "confirmed" }];
  const read = (result: unknown) => {
    const [account, mint] = accountsSchema.parse(result).value;
    return [...mintProblems(mint, treasury), ...accountProblems(account, treasury)];
  };
  const problems = await endpoint.ask({ method: "getMultipleAccounts", params, read, signal });
  return problems.map((problem) => ({ endpoint: endpoint.host, ...problem }));
}

type Problem = Omit<ChainProblem, "endpoint">;

function mintProblems(mint: AccountJson, treasury: Treasury): Problem[] {
  const unfit = (why: string): Problem[] => [
    {
      code: "WRONG_MINT",
      problem: `the mint ${treasury.mint} ${why}; use a mainnet RPC that returns accounts unchanged`,
    },
  ];
  if (!mint) return unfit("does not exist");
  if (mint.owner !== TOKEN_PROGRAM)
    return unfit(`belongs to the program ${untrusted(mint.owner)} instead of the SPL Token program`);
  const { decimals, isInitialized } = readMint(Buffer.from(mint.data[0], "base64"));
  if (!isInitialized) return unfit("is not initialized");
  return decimals === USDC_DECIMALS ? [] : unfit(`has ${decimals} decimals instead of ${USDC_DECIMALS}`);
}

function accountProblems(account: AccountJson, treasury: Treasury): Problem[] {
  const unfit = (why: string): Problem[] => [
    {
      code: "TREASURY_ACCOUNT_UNFIT",
      problem:
        `the treasury's token account ${treasury.tokenAccount} ${why}; it could not receive payments, ` +
        "choose another TREASURY_OWNER",
    },
  ];
  if (!account) {
    const create = `spl-token create-account ${treasury.mint} --owner ${treasury.owner} --fee-payer KEYPAIR`;
    const problem =
      `the treasury's token account ${treasury.tokenAccount} does not exist; check that TREASURY_OWNER ` +
      `is a wallet (not a token account) and open its USDC account once, e.g. ${create}`;
    return [{ code: "NO_TREASURY_ACCOUNT", problem }];
  }
  if (account.owner !== TOKEN_PROGRAM)
    return unfit(`belongs to the program ${untrusted(account.owner)} instead of the SPL Token program`);
  const { mint, owner, state } = readTokenAccount(Buffer.from(account.data[0], "base64"));
  if (mint !== treasury.mint) return unfit(`holds the mint ${mint} instead of USDC`);
  if (owner !== treasury.owner) return unfit(`was handed over to ${owner}`);
  if (state === "frozen") return unfit("is frozen");
  return state === "initialized" ? [] : unfit("is not initialized");
}

/** Untrusted text that should be 32 bytes in base58. */
function untrusted(text: string): string {
  return printable(text.slice(0, 44));
}

/** A mint in the SPL Token program's layout. */
interface Mint {
  readonly decimals: number;
  readonly isInitialized: boolean;
}

/** A token account in the SPL Token program's layout. */
interface TokenAccount {
  /** base58 */
  readonly mint: string;
  /** base58 */
  readonly owner: string;
  readonly state: "uninitialized" | "initialized" | "frozen" | "unknown";
}

/** Sizes in bytes. */
const [MINT_SIZE, ACCOUNT_SIZE] = [82, 165];

/** Account states by their number. */
const STATES = ["uninitialized", "initialized", "frozen"] as const;

/** @throws MalformedAnswer for bytes that are not a mint */
function readMint(bytes: Buffer): Mint {
  requireSize(bytes, MINT_SIZE);
  return { decimals: bytes.readUInt8(44), isInitialized: bytes.readUInt8(45) === 1 };
}

/** @throws MalformedAnswer for bytes that are not a token account */
function readTokenAccount(bytes: Buffer): TokenAccount {
  requireSize(bytes, ACCOUNT_SIZE);
  return {
    mint: base58.encode(bytes.subarray(0, 32)),
    owner: base58.encode(bytes.subarray(32, 64)),
    state: STATES[bytes.readUInt8(108)] ?? "unknown",
  };
}

function requireSize(bytes: Buffer, size: number): void {
  if (bytes.length !== size)
    throw new MalformedAnswer(`an account has ${bytes.length} bytes instead of ${size}`);
}
