import type { Caller } from "../../domain/accounts/caller.ts";
import type { SealedNonces } from "../../domain/accounts/sealed-nonce.ts";
import { challengeOf, isCurrentChallenge, type SignInInput } from "../../domain/accounts/sign-in.ts";
import { parseAddress, parseSignature } from "../../domain/core/base58.ts";
import type { Clock } from "../../domain/core/clock.ts";
import { isCanonicalKey, isSignedBy } from "../../domain/core/ed25519.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { objectIn } from "../../domain/payments/encoded-object.ts";
import { X402_NETWORK } from "../../domain/payments/x402.ts";
import type { SignInForms } from "./sign-in-forms.ts";
import type { WalletAccounts } from "./wallet-accounts.ts";

/** Nonces that were used, shared by all instances. */
export interface UsedNonces {
  /** @returns whether the nonce was unused: one caller per nonce gets true */
  add(nonce: string, expiresAt: Date): Promise<boolean>;
}

export interface WalletSignInDeps {
  readonly nonces: SealedNonces;
  readonly used: UsedNonces;
  readonly wallets: Pick<WalletAccounts, "find">;
  readonly forms: Pick<SignInForms, "textOf">;
  readonly clock: Clock;
  /** Public address of the gateway without a trailing slash; never from a request. */
  readonly baseUrl: () => string;
}

/** A wallet that has signed a request. */
export interface SignedInWallet {
  readonly wallet: string;
  /** Undefined for a wallet without an account. */
  readonly caller: Caller | undefined;
  /**
   * Consumes the sign-in for a request that changes something.
   * @throws ToolgateError UNAUTHORIZED when it was signed for another path, or used before
   */
  use(path: string): Promise<void>;
}

const STATEMENT =
  "Use the balance and the API keys of this wallet's account at this gateway. " +
  "This signs one request and sends no transaction.";

/** Sign-In-With-X (x402 extension): a wallet signs the URL of a request. Challenges are not stored. */
export class WalletSignIn {
  readonly #deps: WalletSignInDeps;

  constructor(deps: WalletSignInDeps) {
    this.#deps = deps;
  }

  /** Returns a new challenge for requests to a path of this gateway. */
  challenge(path: string): SignInInput {
    const { nonce, issuedAt } = this.#deps.nonces.issue();
    return this.#challenge(`${this.#deps.baseUrl()}${path}`, nonce, issuedAt);
  }

  /**
   * Checks a SIGN-IN-WITH-X header: cheap checks first, then the signature, then the account.
   * @throws ToolgateError UNAUTHORIZED
   */
  async signIn(header: string): Promise<SignedInWallet> {
    const { wallets, used } = this.#deps;
    const signed = objectIn(header, ["base64"]);
    if (typeof signed === "string") throw unauthorized(signed);
    const text = (name: string) => {
      const value = signed[name];
      return typeof value === "string" ? value : "";
    };
    const uri = text("uri");
    const challenge = await this.#open(uri, text("nonce"));
    for (const [name, expected] of Object.entries({ type: "ed25519", ...challenge }))
      if (signed[name] !== expected) throw unauthorized(`${name}: must be ${JSON.stringify(expected)}`);
    const wallet = text("address");
    await this.#requireSignature(challenge, wallet, text("signature"));
    return {
      wallet,
      caller: await wallets.find(wallet),
      use: async (path) => {
        const expected = `${this.#deps.baseUrl()}${path}`;
        if (uri !== expected) throw unauthorized(`uri: this request needs a signature for ${expected}`);
        if (!(await used.add(challenge.nonce, new Date(challenge.expirationTime))))
          throw unauthorized("nonce: was used before; take a new challenge");
      },
    };
  }

  /** Returns the challenge of a nonce with the signed URI. @throws ToolgateError UNAUTHORIZED */
  async #open(uri: string, nonce: string): Promise<SignInInput> {
    const { nonces, clock, baseUrl } = this.#deps;
    const { origin } = new URL(baseUrl());
    if (!URL.canParse(uri) || new URL(uri).origin !== origin)
      throw unauthorized(`uri: must be a URL of ${origin}`);
    const issuedAt = await nonces.open(nonce);
    if (issuedAt === undefined) throw unauthorized("nonce: is not one of this gateway");
    const challenge = this.#challenge(uri, nonce, issuedAt);
    if (isCurrentChallenge(challenge, clock)) return challenge;
    throw unauthorized("nonce: has expired; take a new challenge");
  }

  #challenge(uri: string, nonce: string, issuedAt: number): SignInInput {
    const domain = new URL(this.#deps.baseUrl()).host;
    return challengeOf({ domain, uri, statement: STATEMENT, chainId: X402_NETWORK, nonce }, issuedAt);
  }

  /** @throws ToolgateError UNAUTHORIZED */
  async #requireSignature(challenge: SignInInput, wallet: string, signature: string): Promise<void> {
    const key = parseAddress(wallet);
    if (!key || !isCanonicalKey(key)) throw unauthorized("address: is not a Solana address");
    // CAIP-2 names the chain; the signed text has the reference only.
    const chainId = X402_NETWORK.slice(X402_NETWORK.indexOf(":") + 1);
    const text = await this.#deps.forms.textOf({ ...challenge, chainId }, wallet);
    const bytes = parseSignature(signature);
    if (!bytes || !isSignedBy(key, Buffer.from(text, "utf8"), bytes))
      throw unauthorized("signature: is not the address's own over the challenge's text");
  }
}

function unauthorized(problem: string): ToolgateError {
  return new ToolgateError("UNAUTHORIZED", `SIGN-IN-WITH-X: ${problem}`);
}
