import { SCOPES, DEFAULT_SCOPES } from "../../domain/accounts/scope.ts";
import type { ServedDocument } from "../documents/document-handler.ts";

/** Paths of the authorization server, below its issuer. */
export const PATHS = {
  authorize: "/oauth/authorize",
  token: "/oauth/token",
  register: "/oauth/register",
  revoke: "/oauth/revoke",
  consent: "/oauth/consent",
  approval: "/oauth/approval",
} as const;

/** How clients recognise enterprise-managed authorization (its draft, section 7.2). */
const ID_JAG_PROFILE = "urn:ietf:params:oauth:grant-profile:id-jag";

const PROOF_ALGORITHMS = ["ES256", "EdDSA", "Ed25519"];

const RESOURCE_METADATA = "/.well-known/oauth-protected-resource";

/** Where the authorization server and the resources are; available after the servers listen. */
export interface OAuthAddresses {
  /** Base URL of the gateway, without a slash at its end. */
  readonly baseUrl: () => string;
  /** Address of the console, whose origin is the issuer: there are its sessions. */
  readonly consoleUrl: () => string;
}

/** Identifier of the authorization server (RFC 8414 section 2). */
export function issuerOf({ consoleUrl }: Pick<OAuthAddresses, "consoleUrl">): string {
  return new URL(consoleUrl()).origin;
}

/** Page of the console on which a person decides on a call of an application. */
export function approvalUrl({ consoleUrl }: Pick<OAuthAddresses, "consoleUrl">, id: string): string {
  return `${consoleUrl().replace(/\/$/, "")}/approve/${id}`;
}

/** Resources of tokens (RFC 8707): the MCP endpoint, which is the default, and the gateway. */
export function resourcesOf({ baseUrl }: Pick<OAuthAddresses, "baseUrl">): readonly [string, string] {
  return [`${baseUrl()}/mcp`, baseUrl()];
}

/** What is served besides the sign-in of persons; empty lists: nothing. */
export interface OAuthExtras {
  readonly issuers: readonly string[];
  /** How registered clients get tokens without a person. */
  readonly grantTypes: readonly string[];
}

/** Grants without a person (RFC 7523 section 2.1, RFC 6749 section 4.4). */
export const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
export const CLIENT_CREDENTIALS = "client_credentials";

/** Algorithms that clients may sign with. */
export const CLIENT_ALGORITHMS = ["RS256", "PS256", "ES256", "Ed25519", "EdDSA"] as const;

/** What a 401 says besides (RFC 9728 section 5.1, RFC 6750 section 3). */
export function challengeOf({ baseUrl }: Pick<OAuthAddresses, "baseUrl">): string {
  const { origin } = new URL(baseUrl());
  return `resource_metadata="${origin}${RESOURCE_METADATA}/mcp", scope="${DEFAULT_SCOPES.join(" ")}"`;
}

/**
 * Metadata of the resources (RFC 9728) and of the authorization server (RFC 8414).
 * @param isServer whether persons sign in here; else only outside issuers are named
 */
export function oauthDocuments(
  addresses: OAuthAddresses,
  extras: OAuthExtras,
  isServer: boolean,
): ServedDocument[] {
  const servers = () => [...(isServer ? [issuerOf(addresses)] : []), ...extras.issuers];
  const document = (path: string, content: () => object): ServedDocument => {
    let last: { readonly json: string } | undefined;
    const text = () => {
      const json = JSON.stringify(content());
      if (last?.json !== json) last = { json };
      return last.json;
    };
    return { path, mediaType: "application/json", maxAgeSeconds: 60, text };
  };
  return [
    document(`${RESOURCE_METADATA}/mcp`, () => resourceMetadata(servers(), resourcesOf(addresses)[0])),
    document(RESOURCE_METADATA, () => resourceMetadata(servers(), resourcesOf(addresses)[1])),
    ...(isServer
      ? [
          document("/.well-known/oauth-authorization-server", () =>
            serverMetadata(issuerOf(addresses), extras),
          ),
        ]
      : []),
  ];
}

function resourceMetadata(servers: readonly string[], resource: string): object {
  return {
    resource,
    authorization_servers: servers,
    scopes_supported: DEFAULT_SCOPES,
    bearer_methods_supported: ["header"],
    dpop_signing_alg_values_supported: PROOF_ALGORITHMS,
    resource_name: "Toolgate",
  };
}

function serverMetadata(issuer: string, { grantTypes }: OAuthExtras): object {
  const authMethods = ["none", "client_secret_basic", "client_secret_post"];
  if (grantTypes.length > 0) authMethods.push("private_key_jwt");
  return {
    issuer,
    authorization_endpoint: issuer + PATHS.authorize,
    token_endpoint: issuer + PATHS.token,
    registration_endpoint: issuer + PATHS.register,
    revocation_endpoint: issuer + PATHS.revoke,
    scopes_supported: SCOPES,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token", ...grantTypes],
    ...(grantTypes.includes(JWT_BEARER) && { authorization_grant_profiles_supported: [ID_JAG_PROFILE] }),
    token_endpoint_auth_methods_supported: authMethods,
    ...(grantTypes.length > 0 && { token_endpoint_auth_signing_alg_values_supported: CLIENT_ALGORITHMS }),
    revocation_endpoint_auth_methods_supported: authMethods,
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
    dpop_signing_alg_values_supported: PROOF_ALGORITHMS,
  };
}
