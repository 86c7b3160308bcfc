import type { Address } from "@solana/kit";
import { base58 } from "@scure/base";
import { type AccountState, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from "../accounts.ts";
import type { ChainView } from "../chain-view.ts";
import type { Json } from "../json.ts";
import { decodeMint, decodeTokenAccount, uiTokenAmount } from "../token-account.ts";
import type { Mint, TokenAccount } from "../token-account.ts";
import type { Commitment } from "../slots.ts";
import { invalidParams, type Options, withContext, type MethodTable, parseAddress } from "./params.ts";

/** base58 takes quadratic time, so validators write at most 128 bytes of it. */
const MAX_BASE58_BYTES = 128;
const MAX_MULTIPLE_ACCOUNTS = 100;

export const accountMethods: MethodTable = {
  getAccountInfo(view, params) {
    const options = params.options(1);
    const commitment = options.commitment();
    options.requireContextSlot(view, commitment);
    const account = view.account(params.address(0), commitment);
    return withContext(view, commitment, encodeAccount(view, account, options));
  },

  getMultipleAccounts(view, params) {
    const options = params.options(1);
    const commitment = options.commitment();
    options.requireContextSlot(view, commitment);
    const addresses = params.addresses(0);
    if (addresses.length > MAX_MULTIPLE_ACCOUNTS) {
      throw invalidParams(`Too many inputs provided; max ${MAX_MULTIPLE_ACCOUNTS}`);
    }
    const accounts = addresses.map((each) => encodeAccount(view, view.account(each, commitment), options));
    return withContext(view, commitment, accounts);
  },

  getBalance(view, params) {
    const options = params.options(1);
    const commitment = options.commitment();
    options.requireContextSlot(view, commitment);
    return withContext(view, commitment, view.account(params.address(0), commitment)?.lamports ?? 0n);
  },

  getMinimumBalanceForRentExemption(view, params) {
    return view.chain.svm.minimumBalanceForRentExemption(BigInt(params.count(0)));
  },
};

/** An account in the encoding that the options ask for; null if there is none. */
export function encodeAccount(view: ChainView, account: AccountState, options: Options): Json {
  if (account === null) return null;
  const encoding = accountEncoding(options);
  const slice = dataSlice(options);
  const length = slice?.length ?? account.data.length;
  if ((encoding === "base58" || encoding === "binary") && length > MAX_BASE58_BYTES) {
    throw invalidParams(
      "Encoded binary (base 58) data should be less than 128 bytes, please use Base64 encoding.",
    );
  }
  return accountJson(account, encoding, slice, mintDecimals(view, decodeTokenAccount(account)?.mint));
}

function accountEncoding(options: Options): AccountEncoding {
  const text = options.text("encoding");
  if (text === undefined) return "binary";
  if (text === "base64+zstd")
    throw invalidParams("The encoding base64+zstd is not offered by the local chain.");
  const encoding = ACCOUNT_ENCODINGS.find((each) => each === text);
  if (encoding === undefined)
    throw invalidParams(`Invalid params: unknown variant \`${text}\`, expected an encoding.`);
  return encoding;
}

function dataSlice(options: Options): DataSlice | undefined {
  const slice = options.object("dataSlice");
  if (slice === undefined) return undefined;
  const offset = slice.count("offset");
  const length = slice.count("length");
  if (offset === undefined || length === undefined)
    throw invalidParams("Invalid params: dataSlice: missing field");
  return { offset, length };
}

/** Decimals never change, so the newest state of the mint will do. */
function mintDecimals(view: ChainView, mint: Address | undefined): number | undefined {
  return mint === undefined ? undefined : decodeMint(view.chain.account(mint))?.decimals;
}

const ACCOUNT_ENCODINGS = ["base58", "base64", "jsonParsed"] as const;
type AccountEncoding = (typeof ACCOUNT_ENCODINGS)[number] | "binary";

/** A part of the data: `dataSlice` of the RPC API. */
interface DataSlice {
  readonly offset: number;
  readonly length: number;
}

/** Rent-exempt accounts never pay rent: their epoch is 2^64-1. */
const RENT_EXEMPT_EPOCH = 2n ** 64n - 1n;

/** An account as `getAccountInfo` shows it. `decimals` of the mint are needed to parse a token account. */
function accountJson(
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

export const tokenMethods: MethodTable = {
  getTokenAccountBalance(view, params) {
    const commitment = params.options(1).commitment();
    const token = decodeTokenAccount(view.account(params.address(0), commitment));
    const decimals = mintDecimals(view, token?.mint);
    if (token === undefined || decimals === undefined) {
      throw invalidParams("Invalid param: could not find account");
    }
    return withContext(view, commitment, uiTokenAmount(token.amount, decimals));
  },

  getTokenSupply(view, params) {
    const commitment = params.options(1).commitment();
    const mint = decodeMint(view.account(params.address(0), commitment));
    if (mint === undefined) throw invalidParams("Invalid param: could not find mint");
    return withContext(view, commitment, uiTokenAmount(mint.supply, mint.decimals));
  },

  getTokenAccountsByOwner(view, params) {
    const owner = params.address(0);
    const filter = tokenFilter(params.options(1));
    const options = params.options(2);
    const commitment = options.commitment();
    const accounts = tokenAccounts(view, commitment, (token) => token.owner === owner && filter(token));
    return withContext(
      view,
      commitment,
      accounts.map((pubkey) => ({
        pubkey,
        account: encodeAccount(view, view.account(pubkey, commitment), options),
      })),
    );
  },

  getTokenLargestAccounts(view, params) {
    const mint = params.address(0);
    const commitment = params.options(1).commitment();
    const decimals = mintDecimals(view, mint);
    if (decimals === undefined) throw invalidParams("Invalid param: could not find mint");
    const holders: { readonly address: Address; readonly amount: bigint }[] = [];
    for (const address of tokenAccounts(view, commitment, (token) => token.mint === mint)) {
      const amount = decodeTokenAccount(view.account(address, commitment))?.amount ?? 0n;
      holders.push({ address, amount });
    }
    const largest = holders.toSorted((a, b) => Number(b.amount - a.amount)).slice(0, 20);
    return withContext(
      view,
      commitment,
      largest.map(({ address, amount }): Json => ({ address, ...uiTokenAmount(amount, decimals) })),
    );
  },
};

/** Either of `mint` and `programId` has to be given. */
function tokenFilter(options: Options): (token: TokenAccount) => boolean {
  const mint = options.text("mint");
  if (mint !== undefined) {
    const address = parseAddress(mint);
    return (token) => token.mint === address;
  }
  const program = options.text("programId");
  if (program === undefined) throw invalidParams("Invalid params: expected a mint or a programId.");
  const address = parseAddress(program);
  return (token) => token.program === address;
}

/** Addresses of the token accounts that match at the commitment. */
function tokenAccounts(
  view: ChainView,
  commitment: Commitment,
  matches: (token: TokenAccount) => boolean,
): readonly Address[] {
  return [TOKEN_PROGRAM, TOKEN_2022_PROGRAM]
    .flatMap((program) => view.chain.svm.getProgramAccounts(program))
    .map(({ address }) => address)
    .filter((address) => {
      const token = decodeTokenAccount(view.account(address, commitment));
      return token !== undefined && matches(token);
    });
}
