import { SCOPES, DEFAULT_SCOPES } from "../../domain/accounts/scope.ts";
import type { ServedDocument } from "../documents/document-handler.ts";

/** Paths of the authorization server, below its issuer. */
export const PATHS = {
  authorize: "/oauth/authorize",
  token: "/oauth/token",
  register: "/oauth/register",
  revoke: "/oauth/revoke",
  consent: "/oauth/consent",
} as const;

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

/** Resources of tokens (RFC 8707): the MCP endpoint, which is the default, and the gateway. */
export function resourcesOf({ baseUrl }: Pick<OAuthAddresses, "baseUrl">): readonly [string, string] {
  return [`${baseUrl()}/mcp`, baseUrl()];
}

/** What a 401 says besides (RFC 9728 section 5.1, RFC 6750 section 3). */
export function challengeOf({ baseUrl }: Pick<OAuthAddresses, "baseUrl">): string {
  const { origin } = new URL(baseUrl());
  return `resource_metadata="${origin}${RESOURCE_METADATA}/mcp", scope="${DEFAULT_SCOPES.join(" ")}"`;
}

/** Metadata of the resources (RFC 9728) and of the authorization server (RFC 8414). */
export function oauthDocuments(addresses: OAuthAddresses): ServedDocument[] {
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
    document(`${RESOURCE_METADATA}/mcp`, () => resourceMetadata(addresses, resourcesOf(addresses)[0])),
    document(RESOURCE_METADATA, () => resourceMetadata(addresses, resourcesOf(addresses)[1])),
    document("/.well-known/oauth-authorization-server", () => serverMetadata(issuerOf(addresses))),
  ];
}

function resourceMetadata(addresses: OAuthAddresses, resource: string): object {
  return {
    resource,
    authorization_servers: [issuerOf(addresses)],
    scopes_supported: DEFAULT_SCOPES,
    bearer_methods_supported: ["header"],
    dpop_signing_alg_values_supported: PROOF_ALGORITHMS,
    resource_name: "Toolgate",
  };
}

function serverMetadata(issuer: string): object {
  const authMethods = ["none", "client_secret_basic", "client_secret_post"];
  return {
    issuer,
    authorization_endpoint: issuer + PATHS.authorize,
    token_endpoint: issuer + PATHS.token,
    registration_endpoint: issuer + PATHS.register,
    revocation_endpoint: issuer + PATHS.revoke,
    scopes_supported: SCOPES,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    token_endpoint_auth_methods_supported: authMethods,
    revocation_endpoint_auth_methods_supported: authMethods,
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
    dpop_signing_alg_values_supported: PROOF_ALGORITHMS,
  };
}
