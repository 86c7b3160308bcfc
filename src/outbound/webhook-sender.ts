import {
  type WebhookRequest,
  type WebhookResponse,
  type WebhookSender,
  WebhookUnsentError,
} from "../app/webhooks/webhook-deliverer.ts";
import { VERSION } from "../version.ts";
import { ForbiddenAddressError, type Guard } from "./address-guard.ts";
import type { OpenFetch } from "./guarded-fetch.ts";

/** Sends webhooks to the addresses that the guard allows. Loads its HTTP client with the first. */
export class GuardedWebhookSender implements WebhookSender {
  readonly #guard: Guard;
  #connections: Promise<OpenFetch> | undefined;

  constructor(guard: Guard) {
    this.#guard = guard;
  }

  async send({ url, headers, body }: WebhookRequest, signal: AbortSignal): Promise<WebhookResponse> {
    const answered = new AbortController();
    try {
      const connections = await (this.#connections ??= openConnections(this.#guard));
      const response = await connections.fetch(url, {
        method: "POST",
        headers: {
          ...headers,
          "content-type": "application/json",
          "user-agent": `toolgate-webhooks/${VERSION}`,
        },
        body,
        signal: AbortSignal.any([signal, answered.signal]),
      });
      return { status: response.status, retryAfter: response.headers.get("retry-after") };
    } catch (error) {
      signal.throwIfAborted();
      throw new WebhookUnsentError(reasonOf(error), { cause: error });
    } finally {
      // Closes the connection: its body may never end.
      answered.abort();
    }
  }

  async close(): Promise<void> {
    await (await this.#connections)?.close();
  }
}

async function openConnections(guard: Guard): Promise<OpenFetch> {
  const { openGuardedFetch } = await import("./guarded-fetch.ts");
  return openGuardedFetch({ ...guard, maxBytes: 0 });
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ["ENOTFOUND", "the host name does not resolve"],
  ["EAI_AGAIN", "the host name does not resolve"],
  ["ECONNREFUSED", "the receiver refused the connection"],
  ["ECONNRESET", "the receiver closed the connection without a response"],
  ["UND_ERR_SOCKET", "the receiver closed the connection without a response"],
  ["EHOSTUNREACH", "the receiver is unreachable"],
  ["ENETUNREACH", "the receiver is unreachable"],
  ["ETIMEDOUT", "the connection timed out"],
  ["UND_ERR_CONNECT_TIMEOUT", "the connection timed out"],
  ["UND_ERR_HEADERS_OVERFLOW", "the headers of the response are too long"],
]);

function reasonOf(error: unknown): string {
  const causes: Error[] = [];
  for (let cause = error; cause instanceof Error && causes.length < 8; cause = cause.cause)
    causes.push(cause);
  if (causes.some((cause) => cause instanceof ForbiddenAddressError))
    return "the host is not a public address, so nothing was sent";
  for (const cause of causes) {
    const code = "code" in cause && typeof cause.code === "string" ? cause.code : "";
    const reason = REASONS.get(code);
    if (reason !== undefined) return reason;
    if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO/.test(code)) return `no TLS connection (${code})`;
    if (cause.name === "HTTPParserError") return "the response is not HTTP";
    if (cause.message === "bad port") return "the port of the URL belongs to another protocol";
  }
  return "no response";
}
