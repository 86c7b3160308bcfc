import type Provider from "oidc-provider";
import type { CallToolDeps } from "../app/calls/call-tool.ts";
import type { ServeConfig } from "../config/config.ts";
import type { Log } from "../domain/core/log.ts";
import type { Postgres } from "../postgres/index.ts";
import { systemClock, systemRandom } from "../system.ts";
import type { ServedDocument } from "../transport/documents/document-handler.ts";
import { isLoopback } from "../transport/http/origin-policy.ts";
import { HttpCredentials } from "../transport/http/request-head.ts";
import { CallApprovals } from "../transport/mcp/call-approvals.ts";
import { approvalUrl, challengeOf, issuerOf, oauthDocuments } from "../transport/oauth/addresses.ts";
import { BrowserCookie } from "../transport/oauth/browser-cookie.ts";
import { ClientSecrets } from "../transport/oauth/client-secrets.ts";
import { OAuthHandler, type OAuthHandlerParts } from "../transport/oauth/oauth-handler.ts";
import { TokenBuckets } from "../transport/token-buckets.ts";
import type { OutsideAccess } from "./access.ts";
import { hostInUrls, type Addresses } from "./listen.ts";
import { keyRulesOf } from "./services.ts";

/** Metadata documents of clients that are read, per address and instance. */
const DOCUMENT_RATE = { ratePerMinute: 10, burst: 20 };

/**
 * Whether hosts can sign in: only where their tokens are not sent in the clear, and not below a path, since
 * hosts look for metadata at the root (RFC 8414 section 3, RFC 9728 section 3).
 */
export function hasOAuth({ OAUTH, HOST, PUBLIC_URL, CONSOLE_URL, CELL }: ServeConfig): boolean {
  const base = PUBLIC_URL ?? `http://${hostInUrls(HOST)}`;
  const safe = [base, CONSOLE_URL ?? base].map((text) => new URL(text)).every(isSafe);
  if (new URL(base).pathname !== "/") return false;
  return OAUTH !== "off" && safe && (OAUTH === "on" || CELL === 0);
}

function isSafe({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || isLoopback(hostname);
}

type WebParts = "authenticator" | "clients" | "requests" | "time" | "requestIds" | "failed";

interface OAuthOptions extends Pick<OAuthHandlerParts, WebParts> {
  readonly config: ServeConfig;
  readonly postgres: Postgres;
  readonly deps: CallToolDeps;
  readonly log: Pick<Log, "error">;
  /** Available after the servers listen. */
  readonly addresses: () => Addresses;
  readonly trusted: OutsideAccess;
}

interface OAuth {
  readonly documents: readonly ServedDocument[];
  readonly handlers: readonly OAuthHandler[];
  /** What a 401 says besides; undefined: hosts cannot sign in. */
  readonly challenge?: () => string;
  /** Calls beyond the limits of an application; undefined as above. */
  readonly approvals?: CallApprovals;
}

/** Creates the authorization server, if it is on. Its library is imported with the first request for it. */
export function createOAuth(options: OAuthOptions): OAuth {
  const { config, postgres, deps, log, addresses: known, trusted, ...web } = options;
  const addresses = { baseUrl: () => known().baseUrl, consoleUrl: () => known().consoleUrl };
  const isServer = hasOAuth(config);
  if (!isServer && !trusted.tokens) return { documents: [], handlers: [] };
  const documents = oauthDocuments(addresses, trusted.extras, isServer);
  const challenge = () => challengeOf(addresses);
  if (!isServer) return { documents, handlers: [], challenge };
  const { oauthRecords: records, apiKeys, keySecrets, approvals } = postgres;
  const secrets = new ClientSecrets(keySecrets);
  const fetches = new TokenBuckets(systemClock, DOCUMENT_RATE);
  const shared = { records, apiKeys, secrets, clock: systemClock, random: systemRandom };
  let made: BrowserCookie | undefined;
  const cookie = () => (made ??= new BrowserCookie(issuerOf(addresses)));
  const open = async () => {
    const { openProvider } = await import("../transport/oauth/provider.ts");
    return openProvider({
      ...shared,
      addresses,
      keySecrets,
      cell: config.CELL,
      cookie: cookie(),
      log,
      trusted,
      network: isLoopback(new URL(issuerOf(addresses)).hostname) ? "any" : "public",
      mayFetch: ({ req }) => fetches.take(web.clients.of(new HttpCredentials(req)).network).allowed,
    });
  };
  let provider: Promise<Provider> | undefined;
  const handler = new OAuthHandler({
    ...shared,
    ...web,
    approvals,
    rules: keyRulesOf(deps),
    issuer: () => issuerOf(addresses),
    cookie,
    provider: () => (provider ??= open()),
  });
  const asking = new CallApprovals(approvals, (id) => approvalUrl(addresses, id));
  return { documents, handlers: [handler], challenge, approvals: asking };
}
