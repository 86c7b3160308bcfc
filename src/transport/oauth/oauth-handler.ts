import type { IncomingMessage, ServerResponse } from "node:http";
import type Provider from "oidc-provider";
import type { RequestRecorder } from "../../app/operations/request-record.ts";
import type { Caller, RateTier } from "../../domain/accounts/caller.ts";
import type { Clock } from "../../domain/core/clock.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { RequestAuthenticator } from "../authentication.ts";
import { checkDeclaredLength, readBody } from "../http/body.ts";
import { allowedHeaders } from "../http/cors.ts";
import type { HttpHandler } from "../http/dispatch.ts";
import { HttpCredentials } from "../http/request-head.ts";
import { recordUntilClosed, send, type HttpResponse } from "../http/response.ts";
import { blockedMessage, RateLimitedError } from "../key-authenticator.ts";
import type { ClientAddresses } from "../remote-address.ts";
import type { RequestIds } from "../request-ids.ts";
import { TokenBuckets } from "../token-buckets.ts";
import type { UnpaidTime } from "../unpaid-time.ts";
import { PATHS } from "./addresses.ts";
import { type ApprovalParts, decideApproval, shownApproval } from "./approval.ts";
import { authorizationQuery } from "./authorization-query.ts";
import type { BrowserCookie } from "./browser-cookie.ts";
import { type ConsentParts, decideConsent, shownConsent } from "./consent.ts";
import { registerClient, type RegistrationParts } from "./registration.ts";

/** Largest body, bytes. */
const BODY_LIMIT = 16 * 1024;

/** Longest target of an authorization request, which is stored, characters. */
const TARGET_LIMIT = 4_096;

/** Requests that store something, per address and instance: registrations, and authorizations. */
const [REGISTER_RATE, AUTHORIZE_RATE]: readonly [RateTier, RateTier] = [
  { ratePerMinute: 10, burst: 20 },
  { ratePerMinute: 30, burst: 60 },
];

/** What a request of the library takes besides its first step, ms. */
const LATER_MS = 2;

const HEADERS = [
  ["cache-control", "no-store"],
  ["content-security-policy", "default-src 'none'; frame-ancestors 'none'"],
  ["referrer-policy", "no-referrer"],
  ["x-content-type-options", "nosniff"],
  ["x-frame-options", "DENY"],
] as const;

export interface OAuthHandlerParts extends ConsentParts, RegistrationParts, ApprovalParts {
  readonly records: ConsentParts["records"] & RegistrationParts["records"];
  readonly apiKeys: ConsentParts["apiKeys"] & ApprovalParts["apiKeys"];
  /** Opens the library's authorization server; once. */
  readonly provider: () => Promise<Provider>;
  /** Sessions of the console. */
  readonly authenticator: RequestAuthenticator;
  readonly issuer: () => string;
  readonly cookie: () => BrowserCookie;
  readonly clock: Clock;
  readonly clients: ClientAddresses;
  readonly requests: RequestRecorder;
  readonly time: UnpaidTime;
  readonly requestIds: RequestIds;
  readonly failed: (error: unknown, requestId: string) => HttpResponse;
}

interface Endpoint {
  readonly name: string;
  readonly methods: readonly string[];
  /** Whether pages of any origin may call it: it reads no cookie. */
  readonly anyOrigin: boolean;
  /** Answers; undefined: it was answered. */
  readonly serve: (request: IncomingMessage, response: ServerResponse) => Promise<HttpResponse | undefined>;
}

/** The authorization server: its own endpoints, and those of the library. */
export class OAuthHandler implements HttpHandler {
  readonly #parts: OAuthHandlerParts;
  readonly #registrations: TokenBuckets;
  readonly #authorizations: TokenBuckets;
  readonly #endpoints: readonly (readonly [pattern: RegExp, endpoint: Endpoint])[];
  readonly #working = new Set<Promise<void>>();

  constructor(parts: OAuthHandlerParts) {
    this.#parts = parts;
    this.#registrations = new TokenBuckets(parts.clock, REGISTER_RATE);
    this.#authorizations = new TokenBuckets(parts.clock, AUTHORIZE_RATE);
    const library = (request: IncomingMessage, response: ServerResponse) => this.#library(request, response);
    const open = { methods: ["POST"], anyOrigin: true };
    const own = { anyOrigin: false };
    this.#endpoints = [
      [
        /^\/oauth\/authorize$/,
        { ...own, name: "authorize", methods: ["GET"], serve: (...both) => this.#authorize(...both) },
      ],
      [/^\/oauth\/authorize\/[\w-]{1,64}$/, { ...own, name: "resume", methods: ["GET"], serve: library }],
      [/^\/oauth\/token$/, { ...open, name: "token", serve: library }],
      [/^\/oauth\/revoke$/, { ...open, name: "revoke", serve: library }],
      [/^\/oauth\/register$/, { ...open, name: "register", serve: (request) => this.#register(request) }],
      [
        /^\/oauth\/consent\/[\w-]{1,64}$/,
        { ...own, name: "consent", methods: ["GET", "POST"], serve: (request) => this.#consent(request) },
      ],
      [
        /^\/oauth\/approval\/[\w-]{1,64}$/,
        { ...own, name: "approval", methods: ["GET", "POST"], serve: (request) => this.#approval(request) },
      ],
    ];
  }

  handle(request: IncomingMessage, response: ServerResponse): boolean {
    const { url = "/" } = request;
    if (!url.startsWith("/oauth/")) return false;
    const serving = this.#serve(request, response).finally(() => this.#working.delete(serving));
    this.#working.add(serving);
    return true;
  }

  /** Resolves when no request is running. */
  async idle(): Promise<void> {
    while (this.#working.size > 0) await Promise.allSettled(this.#working);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { requests, time, requestIds, failed } = this.#parts;
    const [path = "/"] = (request.url ?? "/").split("?", 1);
    const endpoint = this.#endpoints.find(([pattern]) => pattern.test(path))?.[1];
    const record = recordUntilClosed(requests, "http", `oauth/${endpoint?.name ?? "other"}`, response);
    const requestId = requestIds.of(request.headers["x-request-id"]);
    response.setHeader("x-request-id", requestId);
    for (const [name, value] of HEADERS) response.setHeader(name, value);
    try {
      if (!endpoint) throw new ToolgateError("NOT_FOUND", "no route matches this path");
      if (endpoint.anyOrigin) response.setHeader("access-control-allow-origin", "*");
      if (endpoint.anyOrigin && request.method === "OPTIONS") return preflight(request, response, endpoint);
      requireMethod(request, response, endpoint);
      time.admit(record, { caller: undefined, rate: undefined }, new HttpCredentials(request));
      checkDeclaredLength(request, BODY_LIMIT);
      const serving = time.measure(record, () => endpoint.serve(request, response));
      time.count(record, LATER_MS);
      const answer = await serving;
      if (answer) send(response, [], answer);
    } catch (error) {
      // Closes the connection instead of reading the rest of a body.
      if (!request.complete) response.shouldKeepAlive = false;
      send(response, [], failed(error, requestId));
    }
  }

  async #authorize(request: IncomingMessage, response: ServerResponse): Promise<undefined> {
    this.#limit(this.#authorizations, request, "applications connected from your address");
    if ((request.url ?? "").length > TARGET_LIMIT)
      throw new ToolgateError(
        "INVALID_REQUEST",
        `the query is longer than ${TARGET_LIMIT} characters; shorten it`,
      );
    request.url = `${PATHS.authorize}?${authorizationQuery(request.url ?? "")}`;
    return this.#library(request, response);
  }

  async #library(request: IncomingMessage, response: ServerResponse): Promise<undefined> {
    const { provider, issuer } = this.#parts;
    // Cookies are marked as secure by it.
    request.headers["x-forwarded-proto"] = new URL(issuer()).protocol.slice(0, -1);
    await (await provider()).callback()(request, response);
  }

  async #register(request: IncomingMessage): Promise<HttpResponse> {
    this.#limit(this.#registrations, request, "applications registered from your address");
    return registerClient(this.#parts, await readBody(request, BODY_LIMIT));
  }

  async #consent(request: IncomingMessage): Promise<HttpResponse> {
    const { authenticator, cookie } = this.#parts;
    const id = identifierOf(request, PATHS.consent);
    const decides = request.method === "POST";
    const credentials = new HttpCredentials(request);
    // Only pages of the console, whose session decides.
    const { caller } = await authenticator.authenticate(decides ? "required" : "none", credentials);
    if (!cookie().holds(request.headers.cookie, id))
      throw new ToolgateError(
        "NOT_FOUND",
        "no application waits for this consent in this browser; connect it again",
      );
    if (!decides) return { status: 200, json: await shownConsent(this.#parts, id) };
    const accountId = decidingAccount(caller);
    const body = await readBody(request, BODY_LIMIT);
    const json = await decideConsent(this.#parts, { id, accountId, body });
    return { status: 200, json };
  }

  /** A call of an application, for the account that it would spend of: in any browser of its person. */
  async #approval(request: IncomingMessage): Promise<HttpResponse> {
    const { caller } = await this.#parts.authenticator.authenticate("required", new HttpCredentials(request));
    const id = identifierOf(request, PATHS.approval);
    if (request.method === "GET" && caller)
      return { status: 200, json: await shownApproval(this.#parts, id, caller.accountId) };
    const accountId = decidingAccount(caller);
    const body = await readBody(request, BODY_LIMIT);
    return { status: 200, json: await decideApproval(this.#parts, { id, accountId, body }) };
  }

  /** @throws RateLimitedError */
  #limit(buckets: TokenBuckets, request: IncomingMessage, what: string): void {
    const rate = buckets.take(this.#parts.clients.of(new HttpCredentials(request)).network);
    if (!rate.allowed) throw new RateLimitedError(rate, what);
  }
}

function identifierOf({ url = "" }: IncomingMessage, path: string): string {
  return url.split("?", 1)[0]?.slice(path.length + 1) ?? "";
}

/** Returns the account that decides. @throws ToolgateError UNAUTHORIZED; FORBIDDEN for a blocked account */
function decidingAccount(caller: Caller | undefined): string {
  if (!caller) throw new ToolgateError("UNAUTHORIZED", "sign in first");
  if (caller.blockedReason !== undefined)
    throw new ToolgateError("FORBIDDEN", blockedMessage(caller.blockedReason));
  return caller.accountId;
}

/** @throws ToolgateError METHOD_NOT_ALLOWED */
function requireMethod(
  { method = "GET" }: IncomingMessage,
  response: ServerResponse,
  { methods }: Endpoint,
): void {
  if (methods.includes(method)) return;
  response.setHeader("allow", methods.join(", "));
  throw new ToolgateError("METHOD_NOT_ALLOWED", `this path supports ${methods.join(", ")}`);
}

function preflight(request: IncomingMessage, response: ServerResponse, { methods }: Endpoint): void {
  const allowed = { "access-control-allow-methods": methods.join(", "), ...allowedHeaders(request) };
  response.writeHead(204, { ...allowed, "access-control-max-age": "7200" }).end();
}
