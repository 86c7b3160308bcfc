import type { Authentication, Credentials, KeyRequirement, RequestAuthenticator } from "../authentication.ts";
import { clientAddress, networkOf } from "../remote-address.ts";
import type { UnpaidAnswers } from "./unpaid-answers.ts";

export interface WalletAuthenticatorOptions {
  readonly unpaid: Pick<UnpaidAnswers, "require">;
  /** Number of proxies in front of this server that append to X-Forwarded-For. */
  readonly trustedProxies: number;
}

/** Admits requests without an API key, within the limit of their address. */
export class WalletAuthenticator implements RequestAuthenticator {
  readonly #options: WalletAuthenticatorOptions;

  constructor(options: WalletAuthenticatorOptions) {
    this.#options = options;
  }

  authenticate(_requirement: KeyRequirement, credentials: Credentials): Authentication {
    const { unpaid, trustedProxies } = this.#options;
    const address = clientAddress(credentials, trustedProxies);
    const client = { address, network: networkOf(address), userAgent: "" };
    return { caller: undefined, rate: unpaid.require(client), client };
  }
}
