import type { CallToolDeps } from "../app/calls/call-tool.ts";
import type { Metrics } from "../app/operations/metrics.ts";
import { OutsideGrants } from "../app/oauth/outside-grants.ts";
import type { ServeConfig } from "../config/config.ts";
import type { Log } from "../domain/core/log.ts";
import type { Postgres } from "../postgres/index.ts";
import { systemClock as clock } from "../system.ts";
import { KeyAuthenticator } from "../transport/key-authenticator.ts";
import { type OAuthExtras, resourcesOf } from "../transport/oauth/addresses.ts";
import { IssuerTokens } from "../transport/oauth/issuer-tokens.ts";
import { OutsideTokens } from "../transport/oauth/outside-tokens.ts";
import { PossessionProofs } from "../transport/oauth/possession-proofs.ts";
import { trustedGrantTypes, type TrustedGrantsParts } from "../transport/oauth/trusted-grants.ts";
import type { UnpaidTime } from "../transport/unpaid-time.ts";
import {
  WalletAuthenticator,
  type WalletAuthenticatorOptions,
} from "../transport/wallets/wallet-authenticator.ts";
import { keyRulesOf } from "./services.ts";

interface AccessOptions extends Pick<WalletAuthenticatorOptions, "unpaid" | "signIn" | "clients"> {
  readonly config: ServeConfig;
  readonly postgres: Pick<Postgres, "authenticator" | "apiKeys" | "rateLimiter">;
  readonly deps: CallToolDeps;
  readonly metrics: Metrics;
  readonly time: UnpaidTime;
  readonly log: Log;
  /** Available after the servers listen. */
  readonly baseUrl: () => string;
}

/** Access that the operator gives without a person's consent. */
export interface OutsideAccess extends Pick<TrustedGrantsParts, "clients" | "grants" | "tokens"> {
  /** Undefined: no issuer is trusted. */
  readonly credentials: OutsideTokens | undefined;
  readonly extras: OAuthExtras;
}

/** Creates what authenticates requests by keys, tokens and wallets. */
export function createAccess(options: AccessOptions) {
  const { metrics, baseUrl, unpaid, signIn, clients } = options;
  const { authenticator, rateLimiter } = options.postgres;
  const trusted = createOutsideAccess(options);
  const wallets = new WalletAuthenticator({ unpaid, signIn, clients, rateLimiter });
  const proofs = new PossessionProofs(clock, baseUrl);
  const { credentials } = trusted;
  return {
    access: new KeyAuthenticator(authenticator, rateLimiter, metrics, wallets, proofs, credentials),
    trusted,
  };
}

function createOutsideAccess(options: AccessOptions): OutsideAccess {
  const { config, postgres, deps, time, log, baseUrl } = options;
  const { OAUTH_ISSUERS: issuers = [], OAUTH_CLIENTS: clients = [] } = config;
  const { authenticator: keys, apiKeys } = postgres;
  const resources = () => resourcesOf({ baseUrl });
  const grants = new OutsideGrants({
    keys,
    apiKeys,
    rules: keyRulesOf(deps),
    resource: () => resources()[0],
    clock,
  });
  const tokens = issuers.length === 0 ? undefined : new IssuerTokens(issuers, { clock, log });
  return {
    clients,
    grants,
    tokens,
    credentials: tokens && new OutsideTokens({ tokens, grants, time, clock, resources }),
    extras: {
      issuers: issuers.map(({ issuer }) => issuer),
      grantTypes: trustedGrantTypes(clients, tokens !== undefined),
    },
  };
}
