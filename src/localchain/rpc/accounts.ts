import type { Address } from "@solana/kit";
import { ACCOUNT_ENCODINGS, accountJson, type AccountEncoding, type DataSlice } from "../account-json.ts";
import type { AccountState } from "../account-store.ts";
import type { ChainView } from "../chain-view.ts";
import type { Json } from "../json.ts";
import { decodeMint, decodeTokenAccount } from "../token-account.ts";
import { invalidParams } from "./errors.ts";
import { withContext, type MethodTable } from "./method.ts";
import type { Options } from "./params.ts";

/** base58 takes quadratic time, so validators write at most 128 bytes of it. */
const MAX_BASE58_BYTES = 128;
const MAX_MULTIPLE_ACCOUNTS = 100;

/** Methods that read accounts. */
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
export function mintDecimals(view: ChainView, mint: Address | undefined): number | undefined {
  return mint === undefined ? undefined : decodeMint(view.chain.account(mint))?.decimals;
}
