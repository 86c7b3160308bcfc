import { createHash, randomBytes } from "node:crypto";
import { Keypair } from "@solana/web3.js";
import { uniqueAddress } from "../../console-server/anonymous-client.ts";
import { pageHeaders, signIn } from "../../support/console.ts";
import { secret } from "../../support/record.ts";

interface Address {
  readonly baseUrl: string;
  readonly consoleUrl: string;
}

export type Decision = Readonly<Record<string, unknown>>;

/** A person's browser, by fetch: it keeps cookies and follows nothing by itself. */
export class Browser {
  readonly wallet: Keypair;
  readonly #cookies = new Map<string, { readonly value: string; readonly path: string }>();

  constructor(wallet = Keypair.generate()) {
    this.wallet = wallet;
  }

  async get(url: string | URL, headers: Record<string, string> = {}): Promise<Response> {
    const { pathname } = new URL(url);
    const cookies = [...this.#cookies].filter(([, { path }]) => pathname.startsWith(path));
    const cookie = cookies.map(([name, { value }]) => `${name}=${value}`).join("; ");
    const answer = await fetch(url, { redirect: "manual", headers: { cookie, ...headers } });
    this.#keep(answer);
    return answer;
  }

  /** Opens the address that a host sends the person to. @returns the identifier of the consent */
  async open(url: string | URL): Promise<string> {
    const answer = await this.get(url);
    const location = answer.headers.get("location") ?? (await answer.text());
    const [, id] = /\/console\/connect\/([\w-]+)$/.exec(location) ?? [];
    if (id === undefined) throw new Error(`no consent is asked for: ${answer.status} ${location}`);
    return id;
  }

  consent(gateway: Address, id: string): Promise<Response> {
    return this.get(`${gateway.baseUrl}/oauth/consent/${id}`, pageHeaders(gateway));
  }

  /** Signs in at the console, unless it has, and decides. */
  async decide(
    gateway: Address,
    id: string,
    decision: Decision,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    return this.ask(gateway, `consent/${id}`, decision, headers);
  }

  /** A request of a page of the console about a question of a host. Signs in, unless it has. */
  async ask(
    gateway: Address,
    path: string,
    body?: Decision,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    if (!this.#cookies.has("toolgate_session")) await this.signIn(gateway);
    const cookie = [...this.#cookies].map(([name, { value }]) => `${name}=${value}`).join("; ");
    const sent = { ...pageHeaders(gateway), cookie, "content-type": "application/json", ...headers };
    return fetch(`${gateway.baseUrl}/oauth/${path}`, {
      ...(body && { method: "POST", body: JSON.stringify(body) }),
      headers: sent,
    });
  }

  async signIn(gateway: Address): Promise<void> {
    const { cookie } = await signIn({ gateway }, this.wallet);
    this.#set(cookie, "/");
  }

  /** Goes on after the decision. @returns the address that the host is called back at */
  async back(answer: Response): Promise<URL> {
    const { location }: { location?: string } = JSON.parse(await answer.text());
    if (location === undefined) throw new Error(`not decided: ${answer.status}`);
    const resumed = await this.get(location);
    const callback = resumed.headers.get("location");
    if (callback === null) throw new Error(`not called back: ${resumed.status} ${await resumed.text()}`);
    return new URL(callback);
  }

  /** All that a person does who approves. @returns the address that the host is called back at */
  async approve(gateway: Address, url: string | URL, decision: Decision = {}): Promise<URL> {
    const id = await this.open(url);
    return this.back(await this.decide(gateway, id, { approve: true, ...decision }));
  }

  #keep(answer: Response): void {
    for (const header of answer.headers.getSetCookie()) {
      const path = /;\s*path=([^;]*)/i.exec(header)?.[1] ?? "/";
      this.#set(header.split(";", 1)[0] ?? "", path);
    }
  }

  #set(pair: string, path: string): void {
    const at = pair.indexOf("=");
    this.#cookies.set(pair.slice(0, at), { value: pair.slice(at + 1), path });
  }
}

export const CALLBACK = "http://127.0.0.1:33418/callback";

/** A host without a library: what it sends can be wrong. */
export interface Host {
  readonly clientId: string;
  readonly verifier: string;
}

/** Registers a public client. */
export async function register(gateway: Address, metadata: object = {}): Promise<Host> {
  const answer = await askRegistration(gateway, metadata);
  const { client_id: clientId }: { client_id: string } = JSON.parse(await answer.text());
  return { clientId, verifier: randomBytes(32).toString("base64url") };
}

/** From an address of its own: registrations are limited by address. Needs TRUSTED_PROXY_HOPS=1. */
export function askRegistration(gateway: Address, metadata: object): Promise<Response> {
  const wanted = {
    client_name: "Test host",
    redirect_uris: [CALLBACK],
    grant_types: ["authorization_code", "refresh_token"],
    token_endpoint_auth_method: "none",
    ...metadata,
  };
  return postJson(`${gateway.baseUrl}/oauth/register`, wanted, uniqueAddress());
}

export function postJson(url: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

/** The address that a host sends its person to. @param changed parameters; undefined leaves one out */
export function authorizeUrl(
  gateway: Address,
  { clientId, verifier }: Host,
  changed: Readonly<Record<string, string | undefined>> = {},
): URL {
  const parameters = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: CALLBACK,
    state: "a-state",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    resource: `${gateway.baseUrl}/mcp`,
    ...changed,
  };
  const url = new URL(`${gateway.baseUrl}/oauth/authorize`);
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) url.searchParams.append(name, value);
  return url;
}

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly token_type: string;
  readonly expires_in: number;
  readonly scope: string;
}

/** The answer of the token endpoint: tokens, or an error. */
async function askTokens(
  gateway: Address,
  parameters: Readonly<Record<string, string>>,
): Promise<{ status: number } & Partial<Tokens & { error: string; error_description: string }>> {
  const answer = await fetch(`${gateway.baseUrl}/oauth/token`, {
    method: "POST",
    body: new URLSearchParams(parameters),
  });
  const body: Partial<Tokens & { error: string; error_description: string }> = JSON.parse(
    await answer.text(),
  );
  for (const token of [body.access_token, body.refresh_token])
    if (token !== undefined) secret("a token", token);
  return { status: answer.status, ...body };
}

export function redeem(gateway: Address, host: Host, callback: URL, changed: Record<string, string> = {}) {
  return askTokens(gateway, {
    grant_type: "authorization_code",
    code: callback.searchParams.get("code") ?? "",
    redirect_uri: CALLBACK,
    client_id: host.clientId,
    code_verifier: host.verifier,
    ...changed,
  });
}

export function refresh(
  gateway: Address,
  host: Host,
  refreshToken: string,
  changed: Record<string, string> = {},
) {
  return askTokens(gateway, {
    grant_type: "refresh_token",
    refresh_token: refreshToken,
    client_id: host.clientId,
    ...changed,
  });
}

/** A host with the tokens of a new grant. */
export async function connect(
  gateway: Address,
  { browser = new Browser(), decision = {} }: { browser?: Browser; decision?: Decision } = {},
) {
  const host = await register(gateway);
  const callback = await browser.approve(gateway, authorizeUrl(gateway, host), decision);
  const {
    access_token: accessToken,
    refresh_token: refreshToken,
    ...rest
  } = await redeem(gateway, host, callback);
  if (accessToken === undefined || refreshToken === undefined)
    throw new Error(`no tokens: ${JSON.stringify(rest)}`);
  return { browser, host, callback, accessToken, refreshToken };
}
