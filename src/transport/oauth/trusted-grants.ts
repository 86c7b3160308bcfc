import type Provider from "oidc-provider";
import type { ClientMetadata, errors as Errors, TokenEndpointGrantContext } from "oidc-provider";
import type { OAuthRecords } from "../../app/oauth/oauth-records.ts";
import type { OutsideGrant, OutsideGrants } from "../../app/oauth/outside-grants.ts";
import type { TrustedClient } from "../../domain/accounts/outside-identity.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { CLIENT_CREDENTIALS, issuerOf, JWT_BEARER, type OAuthAddresses, resourcesOf } from "./addresses.ts";
import { grantOf, type IssuerTokens, LEEWAY_S, scopesOf, TokenError } from "./issuer-tokens.ts";

/** Longest life of an assertion, s. */
const MAX_LIFE_S = 600;

const ID_JAG = { types: ["oauth-id-jag+jwt"] };

export interface TrustedGrantsParts {
  readonly clients: readonly TrustedClient[];
  readonly grants: OutsideGrants;
  /** Undefined: no issuer is trusted. */
  readonly tokens: IssuerTokens | undefined;
  readonly records: Pick<OAuthRecords, "save" | "consume">;
  readonly addresses: OAuthAddresses;
  readonly errors: typeof Errors;
}

type Context = TokenEndpointGrantContext<{
  assertion?: string;
  scope?: string;
  resource?: string | string[];
}>;

/** What a token is issued for. */
interface Issue {
  readonly grant: OutsideGrant;
  /** At most. */
  readonly scopes: ReadonlySet<string>;
  readonly resource: string;
  readonly type: string;
  /** Called with the key before a token is issued. */
  readonly before?: (keyId: string) => Promise<void>;
}

/** The grant types that clients of the operator can use; none without such clients. */
export function trustedGrantTypes(clients: readonly TrustedClient[], hasIssuers: boolean): string[] {
  const own = clients.some(({ account }) => account !== undefined) ? [CLIENT_CREDENTIALS] : [];
  return hasIssuers && clients.length > 0 ? [...own, JWT_BEARER] : own;
}

/** Clients of the operator as the library knows them. */
export function trustedClientMetadata({ clients, tokens }: Pick<TrustedGrantsParts, "clients" | "tokens">) {
  return clients.map((client): ClientMetadata => {
    const { credential, clientId, name } = client;
    return {
      client_id: clientId,
      ...(name !== undefined && { client_name: name }),
      ...("secret" in credential
        ? { client_secret: credential.secret, token_endpoint_auth_method: "client_secret_basic" }
        : { jwks: { keys: [...credential.keys] }, token_endpoint_auth_method: "private_key_jwt" }),
      grant_types: trustedGrantTypes([client], tokens !== undefined),
      response_types: [],
      redirect_uris: [],
    };
  });
}

/** Registers the grants without a person: the client's own, and that of a trusted issuer's assertion. */
export function registerTrustedGrants(provider: Provider, parts: TrustedGrantsParts): void {
  const { clients, tokens } = parts;
  const byId = new Map(clients.map((client) => [client.clientId, client]));
  for (const type of trustedGrantTypes(clients, tokens !== undefined))
    provider.registerGrantType(
      type,
      (context: Context) =>
        answered(parts, async () =>
          issue(
            context,
            parts,
            type === JWT_BEARER ? await ofAssertion(context, parts) : ofClient(context, parts, byId),
          ),
        ),
      ["assertion", "scope", "resource"],
      ["resource"],
    );
}

/** RFC 6749 section 4.4 */
function ofClient(
  context: Context,
  parts: TrustedGrantsParts,
  byId: ReadonlyMap<string, TrustedClient>,
): Issue {
  const client = byId.get(context.oidc.client.clientId);
  if (client?.account === undefined) throw new parts.errors.UnauthorizedClient();
  const { clientId: subject, account: accountId, terms, name } = client;
  return {
    grant: { identity: { issuer: undefined, subject, accountId }, terms, name, firstUse: true },
    scopes: new Set(terms.scopes),
    resource: resourceOf(context, parts, undefined),
    type: CLIENT_CREDENTIALS,
  };
}

/** Section 4.4.1 of draft-ietf-oauth-identity-assertion-authz-grant */
async function ofAssertion(context: Context, parts: TrustedGrantsParts): Promise<Issue> {
  const { oidc } = context;
  const { tokens, addresses, records } = parts;
  const audiences = () => [issuerOf(addresses)];
  const { assertion } = oidc.params;
  if (assertion === undefined) throw new parts.errors.InvalidRequest("assertion is missing");
  const verified = await tokens?.verify(assertion, { ...ID_JAG, audiences }, () => {});
  if (!verified) throw new parts.errors.UnsupportedGrantType();
  const { claims, expiresAt, issuer } = verified;
  const { jti, iat, client_id: clientId } = claims;
  if (clientId !== oidc.client.clientId) throw new TokenError("is of another client");
  if (jti === undefined || jti === "") throw new TokenError("has no jti");
  if (iat === undefined || expiresAt - iat > MAX_LIFE_S)
    throw new TokenError(`may not live for longer than ${MAX_LIFE_S} s`);
  return {
    grant: grantOf(verified),
    scopes: scopesOf(verified),
    resource: resourceOf(context, parts, claims["resource"]),
    type: JWT_BEARER,
    before: async (keyId) => {
      const id = `assertion ${JSON.stringify([issuer.issuer, jti])}`;
      const record = { payload: {}, expiresAt: new Date((expiresAt + LEEWAY_S) * 1000), keyId };
      await records.save("ReplayDetection", id, record);
      if (!(await records.consume("ReplayDetection", id))) throw new TokenError("was used before");
    },
  };
}

/** Returns the resource of a request, which is that of its assertion if it has one (RFC 8707). */
function resourceOf({ oidc }: Context, { addresses, errors }: TrustedGrantsParts, asserted: unknown): string {
  const known = resourcesOf(addresses);
  const wanted = [oidc.params.resource ?? [], asserted ?? []].flat();
  const named = new Set(wanted.map((one) => (typeof one === "string" ? one.replace(/\/$/, "") : "")));
  const [resource = known[0]] = named;
  if (named.size > 1 || !known.includes(resource)) throw new errors.InvalidTarget();
  return resource;
}

async function issue(context: Context, { grants, errors }: TrustedGrantsParts, wanted: Issue): Promise<void> {
  const { oidc } = context;
  const { provider, client } = oidc;
  const key = await grants.callerOf(wanted.grant);
  if (key.blockedReason !== undefined) throw new errors.AccessDenied("the account is blocked");
  const requested = oidc.requestParamScopes;
  const scopes = [...key.scopes].filter(
    (scope) => wanted.scopes.has(scope) && (requested.size === 0 || requested.has(scope)),
  );
  if (scopes.length === 0)
    throw new errors.InvalidScope("no requested scope is allowed", oidc.params.scope ?? "");
  const grant = await provider.Grant.find(key.keyId);
  if (!grant) throw new errors.InvalidGrant("the grant was revoked");
  oidc.entity("Grant", grant);
  await wanted.before?.(key.keyId);
  const token = new provider.AccessToken({
    accountId: key.accountId,
    client,
    grantId: key.keyId,
    gty: wanted.type,
    aud: wanted.resource,
    scope: scopes.join(" "),
  });
  oidc.entity("AccessToken", token);
  context.body = {
    access_token: await token.save(),
    expires_in: token.expiration,
    scope: token.scope,
    token_type: token.tokenType,
  };
}

/** Maps what is thrown to errors of the token endpoint (RFC 6749 section 5.2). */
async function answered({ errors }: Pick<TrustedGrantsParts, "errors">, work: () => Promise<void>) {
  try {
    await work();
  } catch (error) {
    // The library's InvalidGrant does not say why.
    const refusal = (why: string) => new errors.CustomOIDCProviderError("invalid_grant", why);
    if (error instanceof TokenError) throw refusal(`the assertion ${error.message}`);
    if (!(error instanceof ToolgateError)) throw error;
    if (error.code === "UNAVAILABLE") throw new errors.TemporarilyUnavailable(error.message);
    throw refusal(error.message);
  }
}
