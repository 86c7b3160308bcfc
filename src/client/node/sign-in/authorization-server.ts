import { jsonObject } from "../../bytes.ts";
import { printable, SignInError } from "./errors.ts";

/** Time limit of each request, ms. */
const REQUEST_MS = 10_000;

/** Where to sign in, and what for. */
export interface AuthorizationServer {
  readonly issuer: string;
  /** What the tokens are for (RFC 8707). */
  readonly resource: string;
  readonly authorize: string;
  readonly token: string;
  readonly register: string;
  readonly revoke: string;
}

/** An answer of the token endpoint. */
interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  /** ms */
  readonly expiresAt: number;
}

/** Returns the origin of a gateway's address. @throws TypeError */
export function gatewayOf(address: string): string {
  if (!isSafe(address)) throw new TypeError("baseUrl: must be https, or http on this machine");
  return new URL(address).origin;
}

/** Finds the authorization server of a gateway (RFC 9728, RFC 8414). @throws SignInError */
export async function discover(gateway: string): Promise<AuthorizationServer> {
  const protectedBy = await metadata(`${gateway}/.well-known/oauth-protected-resource`);
  const { resource, authorization_servers: servers } = protectedBy;
  // RFC 9728 section 3.3: otherwise tokens would be asked for in the name of another.
  if (resource !== gateway)
    throw new SignInError("NO_OAUTH", `${gateway} calls itself ${textOf(resource)}; sign in at that address`);
  const issuer: unknown = Array.isArray(servers) ? servers[0] : undefined;
  if (typeof issuer !== "string" || !isSafe(issuer)) throw invalid(gateway, "authorization_servers");
  const { origin, pathname } = new URL(issuer);
  const below = pathname === "/" ? "" : pathname;
  const server = await metadata(`${origin}/.well-known/oauth-authorization-server${below}`);
  if (server["issuer"] !== issuer) throw invalid(issuer, "issuer");
  const methods = server["code_challenge_methods_supported"];
  if (!Array.isArray(methods) || !methods.includes("S256"))
    throw invalid(issuer, "code_challenge_methods_supported");
  const endpoint = (name: string): string => {
    const url = server[`${name}_endpoint`];
    if (typeof url === "string" && isSafe(url)) return url;
    throw invalid(issuer, `${name}_endpoint`);
  };
  return {
    issuer,
    resource: gateway,
    authorize: endpoint("authorization"),
    token: endpoint("token"),
    register: endpoint("registration"),
    revoke: endpoint("revocation"),
  };
}

/** Registers this program as a public client (RFC 7591). @returns its identifier. @throws SignInError */
export async function register(
  { register: url }: AuthorizationServer,
  client: { readonly name: string; readonly redirectUri: string },
): Promise<string> {
  const { status, body } = await ask(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      client_name: client.name,
      redirect_uris: [client.redirectUri],
      grant_types: ["authorization_code", "refresh_token"],
      token_endpoint_auth_method: "none",
    }),
  });
  const id = body["client_id"];
  if (status === 201 && typeof id === "string") return id;
  throw refusal(url, status, body);
}

/** Exchanges a code or a refresh token. @throws SignInError SIGNED_OUT when that is not valid any more */
export async function askTokens(url: string, parameters: Readonly<Record<string, string>>): Promise<Tokens> {
  const { status, body } = await ask(url, { method: "POST", body: new URLSearchParams(parameters) });
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds } = body;
  if (status === 400 && body["error"] === "invalid_grant")
    throw new SignInError("SIGNED_OUT", "the sign-in has expired or was revoked; sign in again");
  if (status !== 200) throw refusal(url, status, body);
  if (String(body["token_type"]).toLowerCase() !== "bearer") throw invalid(url, "token_type");
  if (typeof accessToken !== "string") throw invalid(url, "access_token");
  if (typeof refreshToken !== "string") throw invalid(url, "refresh_token");
  if (typeof seconds !== "number") throw invalid(url, "expires_in");
  return { accessToken, refreshToken, expiresAt: Date.now() + seconds * 1000 };
}

/** Revokes a refresh token, and with it all of its sign-in (RFC 7009). @throws SignInError */
export async function revoke(url: string, clientId: string, refreshToken: string): Promise<void> {
  const parameters = { token: refreshToken, token_type_hint: "refresh_token", client_id: clientId };
  const { status, body } = await ask(url, { method: "POST", body: new URLSearchParams(parameters) });
  if (status !== 200) throw refusal(url, status, body);
}

async function metadata(url: string): Promise<Record<string, unknown>> {
  const { status, body } = await ask(url, {});
  if (status === 200) return body;
  if (status !== 404) throw refusal(url, status, body);
  throw new SignInError("NO_OAUTH", `${url}: does not exist; no gateway with sign-in is at this address`);
}

async function ask(
  url: string,
  init: RequestInit,
): Promise<{ status: number; body: Record<string, unknown> }> {
  try {
    const signal = AbortSignal.timeout(REQUEST_MS);
    const response = await fetch(url, { ...init, redirect: "error", signal });
    return { status: response.status, body: jsonObject(await response.text()) ?? {} };
  } catch (error) {
    throw new SignInError("SIGN_IN_FAILED", `${url}: cannot be reached`, error);
  }
}

function refusal(url: string, status: number, body: Record<string, unknown>): SignInError {
  const reason = textOf(body["error_description"] ?? body["message"] ?? body["error"] ?? "no reason given");
  return new SignInError("SIGN_IN_FAILED", `${url}: HTTP ${status}, ${reason}`);
}

function invalid(url: string, member: string): SignInError {
  return new SignInError("SIGN_IN_FAILED", `${url}: ${member} is missing or invalid`);
}

function textOf(value: unknown): string {
  return printable(String(value));
}

/** Secrets go over https, or stay on this machine. */
function isSafe(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  const isLocal = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname);
  return protocol === "https:" || (protocol === "http:" && isLocal);
}
