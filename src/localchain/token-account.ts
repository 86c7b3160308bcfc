import { getAddressDecoder, type Address } from "@solana/kit";
import { type AccountState, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from "./accounts.ts";
import type { Json } from "./json.ts";

/** Sizes of the SPL Token account layouts; Token-2022 appends extensions behind them. */
const MINT_SIZE = 82;
const ACCOUNT_SIZE = 165;
/** Token-2022 marks what an extended account is in the byte behind the base layout. */
const ACCOUNT_TYPE_OFFSET = ACCOUNT_SIZE;
const ACCOUNT_TYPE_ACCOUNT = 2;

const decoder = getAddressDecoder();

/** The members of an SPL token account (mint 0, owner 32, amount 64, state 108). */
export interface TokenAccount {
  readonly program: Address;
  readonly mint: Address;
  readonly owner: Address;
  /** In the mint's smallest unit. */
  readonly amount: bigint;
  readonly state: "initialized" | "frozen";
}

/** The members of an SPL mint (supply 36, decimals 44, initialized 45). */
export interface Mint {
  readonly program: Address;
  readonly supply: bigint;
  readonly decimals: number;
  readonly mintAuthority: Address | null;
  readonly freezeAuthority: Address | null;
}

/** Reads an initialized token account of either token program; undefined if it is something else. */
export function decodeTokenAccount(account: AccountState): TokenAccount | undefined {
  if (!isTokenOwned(account) || account.data.length < ACCOUNT_SIZE) return undefined;
  const { data } = account;
  if (data.length > ACCOUNT_SIZE && data[ACCOUNT_TYPE_OFFSET] !== ACCOUNT_TYPE_ACCOUNT) return undefined;
  const state = data[108];
  if (state !== 1 && state !== 2) return undefined;
  return {
    program: account.programAddress,
    mint: decoder.decode(data, 0),
    owner: decoder.decode(data, 32),
    amount: u64(data, 64),
    state: state === 1 ? "initialized" : "frozen",
  };
}

/** Reads an initialized mint of either token program; undefined if it is something else. */
export function decodeMint(account: AccountState): Mint | undefined {
  if (!isTokenOwned(account)) return undefined;
  const { data } = account;
  const extended = data.length > ACCOUNT_SIZE && data[ACCOUNT_TYPE_OFFSET] === 1;
  if ((data.length !== MINT_SIZE && !extended) || data[45] !== 1) return undefined;
  return {
    program: account.programAddress,
    supply: u64(data, 36),
    decimals: data[44] ?? 0,
    mintAuthority: data[0] === 1 ? decoder.decode(data, 4) : null,
    freezeAuthority: data[46] === 1 ? decoder.decode(data, 50) : null,
  };
}

/** The four ways in which the RPC API states one token amount. */
export function uiTokenAmount(amount: bigint, decimals: number): { readonly [name: string]: Json } {
  const digits = amount.toString().padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, "");
  const text = fraction === "" ? whole : `${whole}.${fraction}`;
  return { amount: amount.toString(), decimals, uiAmount: Number(text), uiAmountString: text };
}

function isTokenOwned(account: AccountState): account is NonNullable<AccountState> {
  return account?.programAddress === TOKEN_PROGRAM || account?.programAddress === TOKEN_2022_PROGRAM;
}

function u64(
  data: { readonly buffer: ArrayBufferLike; readonly byteOffset: number },
  offset: number,
): bigint {
  return new DataView(data.buffer, data.byteOffset).getBigUint64(offset, true);
}
