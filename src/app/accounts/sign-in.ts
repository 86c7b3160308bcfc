import { parseAddress } from "../../domain/core/base58.ts";
import type { Clock, Random } from "../../domain/core/clock.ts";
import { isCanonicalKey, isSignedBy } from "../../domain/core/ed25519.ts";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import { isTextSigned } from "../../domain/accounts/offchain-message.ts";
import {
  isValidChallenge,
  isNonce,
  newChallenge,
  type SignInInput,
  type SignInOrigin,
} from "../../domain/accounts/sign-in.ts";
import type { Accounts } from "./accounts.ts";
import type { Session, Sessions } from "./sessions.ts";
import type { SignInChallenges } from "./sign-in-challenges.ts";
import type { SignInForms } from "./sign-in-forms.ts";

export interface SignInDeps {
  readonly challenges: SignInChallenges;
  readonly sessions: Sessions;
  readonly accounts: Pick<Accounts, "create">;
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
export interface SignInAttempt {
  readonly nonce: string;
  readonly address: string;
  readonly proof: SignInProof;
  readonly from: { readonly address: string; readonly userAgent: string };
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
   * @throws ToolgateError INVALID_REQUEST for an invalid address; UNAUTHORIZED
   */
  async signIn({ nonce, address, proof, from }: SignInAttempt): Promise<{ session: Session; token: string }> {
    const { challenges, sessions, accounts, forms } = this.#deps;
    const key = keyOf(address);
    const input = isNonce(nonce) ? this.#good(await challenges.take(nonce)) : undefined;
    if (!input) throw unauthorized(`nonce: ${OVER}`);
    const text = await forms.textOf(input, address);
    if (proof.kind === "message") requireMessage(proof, text, key);
    else await this.#requireTransaction(proof.transaction, text, address, key);
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
