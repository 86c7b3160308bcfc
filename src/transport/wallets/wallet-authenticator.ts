import type { RateLimiter } from "../../app/accounts/authenticator.ts";
import type { WalletSignIn } from "../../app/accounts/sign-in.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { signInKeyId, type RateDecision } from "../../domain/accounts/caller.ts";
import type {
  Authentication,
  ClientInfo,
  Credentials,
  KeyRequirement,
  RequestAuthenticator,
} from "../authentication.ts";
import { BlockedError, RateLimitedError } from "../key-authenticator.ts";
import type { ClientAddresses } from "../remote-address.ts";
import { noAccount } from "./sign-in-required.ts";
import type { UnpaidAnswers } from "./unpaid-answers.ts";

export interface WalletAuthenticatorOptions {
  readonly unpaid: Pick<UnpaidAnswers, "require" | "signedIn">;
  /** For wallets with an account. */
  readonly rateLimiter: RateLimiter;
  readonly clients: ClientAddresses;
  /** Undefined: X402_KEYLESS is off. */
  readonly signIn: Pick<WalletSignIn, "signIn"> | undefined;
}

const SIGNED_IN = "requests signed by this wallet";
const ALL_REQUESTS = "requests of the wallet's account, with all its API keys";

/** Admits requests without an API key within the limits of their address, or of the signed-in account. */
export class WalletAuthenticator implements RequestAuthenticator {
  readonly #options: WalletAuthenticatorOptions;

  constructor(options: WalletAuthenticatorOptions) {
    this.#options = options;
  }

  /** Takes from the limit of the address first: a signature costs a hundred microseconds. */
  authenticate(
    requirement: KeyRequirement,
    credentials: Credentials,
  ): Authentication | Promise<Authentication> {
    const { unpaid, clients, signIn } = this.#options;
    const client = { ...clients.of(credentials), userAgent: "" };
    const rate = unpaid.require(client);
    const { signIn: header } = credentials;
    if (requirement === "wallet" && (header === undefined || !signIn))
      return { caller: undefined, rate, client };
    if (!signIn)
      throw new ToolgateError("UNAUTHORIZED", "SIGN-IN-WITH-X: sign-ins by wallet are off (X402_KEYLESS)");
    if (header === undefined)
      throw new ToolgateError("UNAUTHORIZED", "the header SIGN-IN-WITH-X is missing; sign in with a wallet");
    return this.#signedIn(requirement, header, { rate, client });
  }

  async #signedIn(
    requirement: KeyRequirement,
    header: string,
    { rate, client }: { rate: RateDecision; client: ClientInfo },
  ): Promise<Authentication> {
    const signIn = await this.#options.signIn?.signIn(header);
    const caller = signIn?.caller;
    if (signIn && !caller && requirement !== "wallet") throw noAccount(signIn.wallet);
    if (!caller) return { caller, rate, client: { ...client, signIn } };
    this.#options.unpaid.signedIn(client);
    const own = await this.#options.rateLimiter.take({ ...caller, keyId: signInKeyId(caller.accountId) });
    if (!own.allowed) throw new RateLimitedError(own, own.ofAccount ? ALL_REQUESTS : SIGNED_IN);
    if (caller.blockedReason !== undefined) throw new BlockedError(own, caller.blockedReason);
    return { caller, rate: own, client: { ...client, signIn } };
  }
}
