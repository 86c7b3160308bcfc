import type { Address } from "@solana/kit";
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from "../addresses.ts";
import type { ChainView } from "../chain-view.ts";
import type { Commitment } from "../commitment.ts";
import type { Json } from "../json.ts";
import { decodeMint, decodeTokenAccount, uiTokenAmount, type TokenAccount } from "../token-account.ts";
import { encodeAccount, mintDecimals } from "./accounts.ts";
import { invalidParams } from "./errors.ts";
import { withContext, type MethodTable } from "./method.ts";
import { parseAddress, type Options } from "./params.ts";

/** Methods about SPL tokens. */
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
