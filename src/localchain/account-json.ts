import { base58 } from "@scure/base";
import type { AccountState } from "./account-store.ts";
import { TOKEN_2022_PROGRAM } from "./addresses.ts";
import type { Json } from "./json.ts";
import {
  decodeMint,
  decodeTokenAccount,
  uiTokenAmount,
  type Mint,
  type TokenAccount,
} from "./token-account.ts";

export const ACCOUNT_ENCODINGS = ["base58", "base64", "jsonParsed"] as const;
export type AccountEncoding = (typeof ACCOUNT_ENCODINGS)[number] | "binary";

/** A part of the data: `dataSlice` of the RPC API. */
export interface DataSlice {
  readonly offset: number;
  readonly length: number;
}

/** Rent-exempt accounts never pay rent: their epoch is 2^64-1. */
const RENT_EXEMPT_EPOCH = 2n ** 64n - 1n;

/** An account as `getAccountInfo` shows it. `decimals` of the mint are needed to parse a token account. */
export function accountJson(
  account: NonNullable<AccountState>,
  encoding: AccountEncoding,
  slice?: DataSlice,
  decimals?: number,
): Json {
  return {
    data: dataJson(account, encoding, slice, decimals),
    executable: account.executable,
    lamports: account.lamports,
    owner: account.programAddress,
    rentEpoch: RENT_EXEMPT_EPOCH,
    space: account.data.length,
  };
}

function dataJson(
  account: NonNullable<AccountState>,
  encoding: AccountEncoding,
  slice: DataSlice | undefined,
  decimals: number | undefined,
): Json {
  if (encoding === "jsonParsed") {
    const parsed = parse(account, decimals);
    if (parsed !== undefined) {
      const program = account.programAddress === TOKEN_2022_PROGRAM ? "spl-token-2022" : "spl-token";
      return { program, parsed, space: account.data.length };
    }
  }
  const end = slice === undefined ? undefined : slice.offset + slice.length;
  const data = Uint8Array.from(account.data.slice(slice?.offset ?? 0, end));
  if (encoding === "binary") return base58.encode(data);
  if (encoding === "base58") return [base58.encode(data), "base58"];
  return [Buffer.from(data).toString("base64"), "base64"];
}

function parse(account: NonNullable<AccountState>, decimals: number | undefined): Json | undefined {
  const mint = decodeMint(account);
  if (mint !== undefined) return { type: "mint", info: mintJson(mint) };
  const token = decodeTokenAccount(account);
  if (token === undefined || decimals === undefined) return undefined;
  return { type: "account", info: tokenAccountJson(token, decimals) };
}

function mintJson(mint: Mint): Json {
  return {
    decimals: mint.decimals,
    freezeAuthority: mint.freezeAuthority,
    isInitialized: true,
    mintAuthority: mint.mintAuthority,
    supply: mint.supply.toString(),
  };
}

function tokenAccountJson(token: TokenAccount, decimals: number): Json {
  return {
    isNative: false,
    mint: token.mint,
    owner: token.owner,
    state: token.state,
    tokenAmount: uiTokenAmount(token.amount, decimals),
  };
}
