import { parseAddress, parseSignature } from "../../domain/core/base58.ts";
import type { Clock, Random } from "../../domain/core/clock.ts";
import { isCanonicalKey, isSignedBy } from "../../domain/core/ed25519.ts";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import {
  isTextSigned,
  isValidChallenge,
  isNonce,
  newChallenge,
  challengeOf,
  isCurrentChallenge,
} from "../../domain/accounts/sign-in.ts";
import type { SignInInput, SignInOrigin } from "../../domain/accounts/sign-in.ts";
import type { Caller } from "../../domain/accounts/caller.ts";
import type { SealedNonces } from "../../domain/accounts/sealed-nonce.ts";
import { objectIn } from "../../domain/payments/encoded-object.ts";
import { X402_NETWORK } from "../../domain/payments/x402.ts";
import type { Accounts, WalletAccounts } from "./accounts.ts";
import type { Session, Sessions } from "./authenticator.ts";

export interface SignInChallenges {
  add(input: SignInInput): Promise<void>;
  /** @returns undefined for an unknown, used or deleted challenge; the caller checks expiry */
  find(nonce: string): Promise<SignInInput | undefined>;
  /** Returns and deletes the challenge atomically: only one caller per nonce receives it. */
  take(nonce: string): Promise<SignInInput | undefined>;
}

interface SignInDeps {
  readonly challenges: SignInChallenges;
  readonly sessions: Sessions;
  readonly accounts: Pick<Accounts, "create">;
  readonly wallets: Pick<WalletAccounts, "find">;
  readonly forms: SignInForms;
  readonly clock: Clock;
  readonly random: Random;
  /** Origin of the console, from the configuration and never from a request. */
  readonly origin: () => SignInOrigin;
}

/** What a wallet signed: the text, or a transaction with the text. */
export type SignInProof =
  | { readonly kind: "message"; readonly signed: Uint8Array; readonly signature: Uint8Array }
  | { readonly kind: "transaction"; readonly transaction: Uint8Array };

/** The response to a challenge. Only its signature is trusted. */
interface SignInAttempt {
  readonly nonce: string;
  readonly address: string;
  readonly proof: SignInProof;
  readonly from: { readonly address: string; readonly userAgent: string };
  /** Runs before an account is created for the wallet; may throw. */
  readonly admitNew: () => void;
}

interface NewSession {
  readonly session: Session;
  readonly token: string;
}

/**
 * Sign-in with a Solana wallet. The expected text is built from the stored challenge and the claimed
 * address, and the signature must be that of the address. Nothing is parsed from the signed text.
 */
export class SignIn {
  readonly #deps: SignInDeps;

  constructor(deps: SignInDeps) {
    this.#deps = deps;
  }

  /** Creates a challenge that can be used once within five minutes. */
  async createChallenge(): Promise<SignInInput> {
    const { challenges, clock, random, origin } = this.#deps;
    const input = newChallenge(origin(), clock, random);
    await challenges.add(input);
    return input;
  }

  /**
   * Builds the transaction for wallets that cannot sign texts.
   * @throws ToolgateError INVALID_REQUEST for an invalid address or challenge
   */
  async buildTransaction(nonce: string, address: string): Promise<Uint8Array> {
    const { challenges, forms } = this.#deps;
    keyOf(address);
    const input = isNonce(nonce) ? this.#good(await challenges.find(nonce)) : undefined;
    if (!input) throw invalidField("nonce", OVER);
    return forms.transactionOf(await forms.textOf(input, address), address);
  }

  /**
   * Creates a session. Consumes the challenge in any case.
   * @throws ToolgateError INVALID_REQUEST for an invalid address; UNAUTHORIZED; what `admitNew` throws
   */
  async signIn({ nonce, address, proof, from, admitNew }: SignInAttempt): Promise<NewSession> {
    const { challenges, sessions, accounts, wallets, forms } = this.#deps;
    const key = keyOf(address);
    const input = isNonce(nonce) ? this.#good(await challenges.take(nonce)) : undefined;
    if (!input) throw unauthorized(`nonce: ${OVER}`);
    const text = await forms.textOf(input, address);
    if (proof.kind === "message") requireMessage(proof, text, key);
    else await this.#requireTransaction(proof.transaction, text, address, key);
    if (!(await wallets.find(address))) admitNew();
    const { accountId } = await accounts.create(address);
    return sessions.create({ accountId, ...from });
  }

  #good(input: SignInInput | undefined): SignInInput | undefined {
    const { origin, clock } = this.#deps;
    return input && isValidChallenge(input, origin(), clock) ? input : undefined;
  }

  async #requireTransaction(
    transaction: Uint8Array,
    text: string,
    address: string,
    key: Uint8Array,
  ): Promise<void> {
    const read = await this.#deps.forms.readTransaction(transaction, address);
    if (typeof read === "string")
      throw unauthorized(`transaction: ${read}; sign the one of BuildSignInTransaction`);
    if (read.text !== text) throw unauthorized("transaction: its memo is not the challenge's text");
    if (!isSignedBy(key, read.message, read.signature))
      throw unauthorized("transaction: is not signed by the address");
  }
}

const OVER = "the challenge is unknown, used or expired; start the sign-in again";

/** @throws ToolgateError UNAUTHORIZED */
function requireMessage(
  proof: Extract<SignInProof, { kind: "message" }>,
  text: string,
  key: Uint8Array,
): void {
  if (!isTextSigned(proof.signed, text, key)) {
    throw unauthorized(
      "message.signed_message: is not the challenge's text with the address; sign exactly that text",
    );
  }
  if (!isSignedBy(key, proof.signed, proof.signature)) {
    throw unauthorized("message.signature: is not the address's own over message.signed_message");
  }
}

/** @throws ToolgateError INVALID_REQUEST */
function keyOf(address: string): Uint8Array {
  const key = parseAddress(address);
  if (!key || !isCanonicalKey(key))
    throw invalidField("address", "is not a Solana address (base58, 32 bytes)");
  return key;
}

function unauthorized(message: string): ToolgateError {
  return new ToolgateError("UNAUTHORIZED", message);
}

/** Sign-in messages in the form of transactions, for wallets that sign nothing else. */
export interface SignInForms {
  /** Returns the text that wallets show and sign (Sign In With Solana). */
  textOf(input: SignInInput, address: string): Promise<string>;
  /** Returns an unsigned transaction that carries the text and does nothing else. */
  transactionOf(text: string, address: string): Promise<Uint8Array>;
  /** Reads a signed transaction built by {@link transactionOf}. @returns the problem if it is none */
  readTransaction(transaction: Uint8Array, address: string): Promise<SignedText | string>;
}

export interface SignedText {
  text: string;
  /** The signed bytes. */
  message: Uint8Array;
  signature: Uint8Array;
}

/** Nonces that were used, shared by all instances. */
export interface UsedNonces {
  /** @returns whether the nonce was unused: one caller per nonce gets true */
  add(nonce: string, expiresAt: Date): Promise<boolean>;
  has(nonce: string): Promise<boolean>;
}

interface WalletSignInDeps {
  readonly nonces: SealedNonces;
  readonly used: UsedNonces;
  readonly wallets: Pick<WalletAccounts, "find">;
  readonly forms: Pick<SignInForms, "textOf">;
  readonly clock: Clock;
  /** Public address of the gateway without a trailing slash; never from a request. */
  readonly baseUrl: () => string;
}

export interface SignedInWallet {
  readonly wallet: string;
  /** Undefined for a wallet without an account. */
  readonly caller: Caller | undefined;
  /** Admits a GET request. @throws ToolgateError UNAUTHORIZED if another was signed, or the nonce was used */
  read(path: string): Promise<void>;
  /**
   * Consumes the sign-in for a request that changes something.
   * @throws ToolgateError UNAUTHORIZED when another request was signed, or the nonce was used before
   */
  use(method: string, path: string): Promise<void>;
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

  /** Returns a new challenge for a request to a path of this gateway. */
  challenge(method: string, path: string): SignInInput {
    const { nonce, issuedAt } = this.#deps.nonces.issue();
    return this.#challenge({ method, uri: this.#urlOf(path), nonce }, issuedAt);
  }

  /**
   * Checks a SIGN-IN-WITH-X header: cheap checks first, then the signature, then the account.
   * @throws ToolgateError UNAUTHORIZED
   */
  async signIn(header: string): Promise<SignedInWallet> {
    const { wallets, used } = this.#deps;
    const signed = objectIn(header, ["base64"]);
    if (typeof signed === "string") throw badSignIn(signed);
    const text = (name: string) => {
      const value = signed[name];
      return typeof value === "string" ? value : "";
    };
    const request = { uri: text("uri"), method: text("requestId"), nonce: text("nonce") };
    const challenge = await this.#open(request);
    for (const [name, expected] of Object.entries({ type: "ed25519", ...challenge }))
      if (signed[name] !== expected) throw badSignIn(`${name}: must be ${JSON.stringify(expected)}`);
    const wallet = text("address");
    await this.#requireSignature(challenge, wallet, text("signature"));
    return {
      wallet,
      caller: await wallets.find(wallet),
      read: async (path) => {
        this.#requireSigned(request, "GET", path);
        if (await used.has(challenge.nonce)) throw badSignIn("nonce: was used before; take a new challenge");
      },
      use: async (method, path) => {
        this.#requireSigned(request, method, path);
        if (!(await used.add(challenge.nonce, new Date(challenge.expirationTime))))
          throw badSignIn("nonce: was used before; take a new challenge");
      },
    };
  }

  /** Returns the challenge of a nonce with the signed request. @throws ToolgateError UNAUTHORIZED */
  async #open({ uri, method, nonce }: SignedRequest): Promise<SignInInput> {
    const { nonces, clock, baseUrl } = this.#deps;
    const { origin } = new URL(baseUrl());
    const url = URL.parse(uri);
    if (url?.origin !== origin) throw badSignIn(`uri: must be a URL of ${origin}`);
    if (url.href !== uri) throw badSignIn(`uri: must be written as ${url.href}`);
    const issuedAt = await nonces.open(nonce);
    if (issuedAt === undefined) throw badSignIn("nonce: is not one of this gateway");
    const challenge = this.#challenge({ uri, method, nonce }, issuedAt);
    if (isCurrentChallenge(challenge, clock)) return challenge;
    throw badSignIn("nonce: has expired; take a new challenge");
  }

  /** CAIP-122 has no member for the method: it is the request id, which clients sign as it is. */
  #challenge({ uri, method, nonce }: SignedRequest, issuedAt: number): SignInInput {
    const domain = new URL(this.#deps.baseUrl()).host;
    const signed = { domain, uri, statement: STATEMENT, chainId: X402_NETWORK, nonce };
    return { ...challengeOf(signed, issuedAt), requestId: method };
  }

  #urlOf(path: string): string {
    return new URL(`${this.#deps.baseUrl()}${path}`).href;
  }

  /** @throws ToolgateError UNAUTHORIZED */
  #requireSigned({ uri, method }: SignedRequest, expected: string, path: string): void {
    const url = this.#urlOf(path);
    if (uri !== url) throw badSignIn(`uri: this request needs a signature for ${url}`);
    if (method !== expected) throw badSignIn(`requestId: this request needs a signature for ${expected}`);
  }

  /** @throws ToolgateError UNAUTHORIZED */
  async #requireSignature(challenge: SignInInput, wallet: string, signature: string): Promise<void> {
    const key = parseAddress(wallet);
    if (!key || !isCanonicalKey(key)) throw badSignIn("address: is not a Solana address");
    // CAIP-2 names the chain; the signed text has the reference only.
    const chainId = X402_NETWORK.slice(X402_NETWORK.indexOf(":") + 1);
    const text = await this.#deps.forms.textOf({ ...challenge, chainId }, wallet);
    const bytes = parseSignature(signature);
    if (!bytes || !isSignedBy(key, Buffer.from(text, "utf8"), bytes))
      throw badSignIn("signature: is not the address's own over the challenge's text");
  }
}

/** What a wallet signs. */
interface SignedRequest {
  readonly uri: string;
  readonly method: string;
  readonly nonce: string;
}

function badSignIn(problem: string): ToolgateError {
  return new ToolgateError("UNAUTHORIZED", `SIGN-IN-WITH-X: ${problem}`);
}
