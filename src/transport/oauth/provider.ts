import { generateKeyPairSync } from "node:crypto";
import type * as oidc from "oidc-provider";
import type { Configuration, KoaContextWithOIDC } from "oidc-provider";
import type { ApiKeys } from "../../app/accounts/api-keys.ts";
import type { OAuthRecords, TokenSecrets } from "../../app/oauth/oauth-records.ts";
import { newApiKey, TOKEN_PREFIX } from "../../domain/accounts/api-key.ts";
import { DEFAULT_SCOPES, isScope, SCOPES } from "../../domain/accounts/scope.ts";
import type { Clock, Random } from "../../domain/core/clock.ts";
import type { Log } from "../../domain/core/log.ts";
import type { Network } from "../../outbound/address-guard.ts";
import { CLIENT_ALGORITHMS, issuerOf, PATHS, resourcesOf, type OAuthAddresses } from "./addresses.ts";
import type { BrowserCookie } from "./browser-cookie.ts";
import { documentReader } from "./client-documents.ts";
import { shownClient } from "./client-metadata.ts";
import type { ClientSecrets } from "./client-secrets.ts";
import type { ConsentDetails } from "./consent.ts";
import { adapterOf } from "./record-adapter.ts";
import { registerTrustedGrants, trustedClientMetadata, type TrustedGrantsParts } from "./trusted-grants.ts";

export interface ProviderParts {
  readonly addresses: OAuthAddresses;
  readonly records: OAuthRecords;
  readonly apiKeys: Pick<ApiKeys, "revoke">;
  readonly secrets: ClientSecrets;
  readonly keySecrets: TokenSecrets;
  readonly cell: number;
  readonly cookie: BrowserCookie;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Pick<Log, "error">;
  /** Where metadata documents of clients may be. */
  readonly network: Network;
  /** Whether a new document may be read for this request. */
  readonly mayFetch: (context: KoaContextWithOIDC) => boolean;
  /** Tokens without a person's consent. */
  readonly trusted: Pick<TrustedGrantsParts, "clients" | "grants" | "tokens">;
}

/** Lifetimes, seconds. */
const [INTERACTION_S, CODE_S, ACCESS_S, REFRESH_S] = [600, 60, 3_600, 30 * 86_400];

/** Longest identifier of a client that is the address of its metadata document. */
const MAX_CLIENT_ID = 500;

/** Imports the library on first use, and makes the authorization server of an issuer. */
export async function openProvider(parts: ProviderParts): Promise<oidc.default> {
  const library = await import("oidc-provider");
  const { addresses, keySecrets, random, cell, log } = parts;
  const provider = new library.default(issuerOf(addresses), configurationOf(parts, library));
  registerTrustedGrants(provider, { ...parts.trusted, ...parts, errors: library.errors });
  // The issuer's protocol, which the handler writes into X-Forwarded-Proto: cookies depend on it.
  provider.proxy = true;
  provider.silent = true;
  provider.on("server_error", (_context, err) => log.error({ err }, "OAuth request failed"));
  Object.assign(provider.AccessToken.prototype, {
    generateTokenId(this: { format?: string }) {
      this.format = "opaque";
      return newApiKey(keySecrets.current(), random, cell, TOKEN_PREFIX);
    },
  });
  return provider;
}

type Library = typeof oidc;

function configurationOf(parts: ProviderParts, library: Library): Configuration {
  const { records, apiKeys, secrets, clock, addresses, trusted } = parts;
  const { errors } = library;
  const fetchDocument = documentReader(parts.network);
  const storage = { records, apiKeys, secrets, now: () => clock.now(), errors };
  return {
    allowOmittingSingleRegisteredRedirectUri: false,
    adapter: (name) => adapterOf(name, storage),
    // Only clients of the operator have keys: registered ones and documents may not name private_key_jwt.
    clientAuthMethods: ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"],
    clients: trustedClientMetadata(trusted),
    clientDefaults: {
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      id_token_signed_response_alg: "ES256",
    },
    enabledJWA: { clientAuthSigningAlgValues: [...CLIENT_ALGORITHMS] },
    cookies: {
      names: { session: "_oauth_session", interaction: "_oauth_interaction", resume: "_oauth_resume" },
    },
    expiresWithSession: async () => false,
    features: {
      ...disabledFeatures,
      revocation: {
        enabled: true,
        allowedPolicy: (_context, client, token) => token.clientId === client.clientId,
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: (_context, _client, oneOf) => oneOf?.[0] ?? resourcesOf(addresses)[0],
        useGrantedResource: () => true,
        getResourceServerInfo: (_context, resource) => {
          if (!resourcesOf(addresses).includes(resource.replace(/\/$/, ""))) throw new errors.InvalidTarget();
          return { scope: SCOPE, audience: resource, accessTokenFormat: "opaque", accessTokenTTL: ACCESS_S };
        },
      },
      clientIdMetadataDocument: {
        enabled: true,
        ack: "draft-02",
        allowFetch: (context, clientId) => clientId.length <= MAX_CLIENT_ID && parts.mayFetch(context),
      },
    },
    fetch: (url, init) => fetchDocument(new Request(url).url, init?.signal ?? AbortSignal.timeout(0)),
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    interactions: interactionsOf(parts, library),
    issueRefreshToken: (_context, client) => client.grantTypeAllowed("refresh_token"),
    jwks: { keys: [unusedKey()] },
    loadExistingGrant: (context) => {
      const keyId = context.oidc.result?.consent?.grantId;
      return keyId === undefined ? undefined : context.oidc.provider.Grant.find(keyId);
    },
    pkce: { required: () => true },
    renderError: (context, { error, error_description: description }) => {
      context.type = "text/plain";
      context.body = `${error}: ${description ?? "the request is not valid"}\n`;
    },
    responseTypes: ["code"],
    // A client of the operator ends its token, and not its grant for good.
    revokeGrantPolicy: ({ oidc }) => oidc.client?.grantTypeAllowed("authorization_code") !== false,
    rotateRefreshToken: true,
    routes: { authorization: PATHS.authorize, token: PATHS.token, revocation: PATHS.revoke },
    scopes: [],
    ttl: ttlOf(clock),
  };
}

const SCOPE = SCOPES.join(" ");

/** What is on by default and not needed here. */
const disabledFeatures: Configuration["features"] = {
  devInteractions: { enabled: false },
  pushedAuthorizationRequests: { enabled: false },
  rpInitiatedLogout: { enabled: false },
  userinfo: { enabled: false },
};

/** Every request asks for consent, and keeps what it shows: later changes of a client do nothing. */
function interactionsOf(
  { addresses, cookie }: ProviderParts,
  { interactionPolicy: { Check, Prompt } }: Library,
): Configuration["interactions"] {
  const check = new Check("consent", "a person has to consent", ({ oidc }) => !oidc.result?.consent);
  return {
    policy: [
      new Prompt({ name: "consent", requestable: true }, (context) => ({ ...detailsOf(context) }), check),
    ],
    url: (context, { uid }) => {
      context.append("set-cookie", cookie.withOpened(context.get("cookie"), uid, INTERACTION_S));
      return `${addresses.consoleUrl().replace(/\/$/, "")}/connect/${uid}`;
    },
  };
}

function detailsOf({ oidc }: KoaContextWithOIDC): ConsentDetails {
  const { client, params = {}, resourceServers = {} } = oidc;
  if (!client) throw new Error("an authorization request without a client");
  const scopes = [...oidc.requestParamScopes].filter(isScope);
  return {
    client: shownClient(client.clientId, client.clientName, String(params["redirect_uri"])),
    scopes: scopes.length === 0 ? [...DEFAULT_SCOPES] : scopes,
    resource: Object.keys(resourceServers)[0] ?? "",
  };
}

/** No token outlives the key that it is of. */
function ttlOf(clock: Clock): Configuration["ttl"] {
  const within = (seconds: number) => (context: KoaContextWithOIDC) => {
    const end = context.oidc.entities.Grant?.exp;
    return end === undefined ? seconds : Math.max(1, Math.min(seconds, end - Math.floor(clock.now() / 1000)));
  };
  return {
    AccessToken: within(ACCESS_S),
    AuthorizationCode: CODE_S,
    Grant: REFRESH_S,
    Interaction: INTERACTION_S,
    RefreshToken: within(REFRESH_S),
    Session: INTERACTION_S,
  };
}

/** The library demands a key of ID tokens, of which it issues none. */
function unusedKey() {
  return generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" });
}
