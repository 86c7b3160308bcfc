import { z } from "zod";
import {
  type OAuthClient,
  isNativeRedirect,
  redirectProblem,
  shownName,
} from "../../domain/accounts/oauth-client.ts";
import type { JsonObject } from "../../domain/core/json.ts";

/** Most redirect addresses of a client. */
const MAX_REDIRECTS = 10;

const redirect = z.string().superRefine((text, context) => {
  const problem = redirectProblem(text);
  if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
});

/** What is used of a client's metadata (RFC 7591 section 2); the rest is ignored, such as logos. */
const metadata = z.object({
  redirect_uris: z.array(redirect).min(1, "must name an address").max(MAX_REDIRECTS),
  client_name: z.string().max(200).optional(),
  application_type: z.enum(["web", "native"]).optional(),
  grant_types: z.array(z.string().max(100)).max(10).optional(),
  response_types: z.array(z.string().max(100)).max(10).optional(),
  token_endpoint_auth_method: z.string().max(100).optional(),
});

/** Metadata as the library expects it, of what a client sent. */
export interface ClientMetadata {
  readonly metadata: JsonObject;
  readonly authMethod: string;
}

const GRANTS = ["authorization_code", "refresh_token"];
const AUTH_METHODS = ["none", "client_secret_basic", "client_secret_post"];

/** The first problem of a client's metadata, as an error of RFC 7591 section 3.2.2. */
export class ClientMetadataError extends Error {
  readonly code: "invalid_redirect_uri" | "invalid_client_metadata";

  constructor(path: readonly PropertyKey[], problem: string) {
    super(`${path.join(".")}: ${problem}`.slice(0, 300));
    this.code = path[0] === "redirect_uris" ? "invalid_redirect_uri" : "invalid_client_metadata";
  }
}

/**
 * Reads a client's metadata.
 * @param defaultMethod of authentication at the token endpoint
 * @throws ClientMetadataError
 */
export function readClientMetadata(sent: unknown, defaultMethod: string): ClientMetadata {
  const parsed = metadata.safeParse(sent);
  const [issue] = parsed.error?.issues ?? [];
  if (!parsed.success) throw new ClientMetadataError(issue?.path ?? [], issue?.message ?? "is not an object");
  const { redirect_uris: redirects, client_name: name, ...client } = parsed.data;
  const authMethod = client.token_endpoint_auth_method ?? defaultMethod;
  if (!AUTH_METHODS.includes(authMethod))
    throw new ClientMetadataError(
      ["token_endpoint_auth_method"],
      `must be one of ${AUTH_METHODS.join(", ")}`,
    );
  if (client.response_types && !client.response_types.includes("code"))
    throw new ClientMetadataError(["response_types"], "must contain code");
  const wanted = client.grant_types ?? ["authorization_code"];
  if (!wanted.includes("authorization_code"))
    throw new ClientMetadataError(["grant_types"], "must contain authorization_code");
  const native = redirects.some(isNativeRedirect);
  if (client.application_type === "web" && native)
    throw new ClientMetadataError(["redirect_uris"], "must be https for the application_type web");
  return {
    authMethod,
    metadata: {
      redirect_uris: redirects,
      ...(name !== undefined && { client_name: shownName(name, "") }),
      application_type: native ? "native" : "web",
      grant_types: GRANTS.filter((grant) => wanted.includes(grant)),
      response_types: ["code"],
      token_endpoint_auth_method: authMethod,
    },
  };
}

/** What a consent shows of a client. @param redirectUri where its answer goes */
export function shownClient(clientId: string, name: string | undefined, redirectUri: string): OAuthClient {
  const document = clientId.startsWith("https://") ? URL.parse(clientId) : null;
  const host = document?.host ?? redirectHost(redirectUri);
  return { clientId, name: shownName(name, host), host, verified: document !== null };
}

/** Host of a redirect address; the scheme of an application's own one. */
export function redirectHost(redirectUri: string): string {
  const url = URL.parse(redirectUri);
  if (!url) return "";
  return url.protocol.startsWith("http") ? url.host : url.protocol.slice(0, -1);
}
