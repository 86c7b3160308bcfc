import type { IncomingMessage } from "node:http";
import { ToolgateError } from "../../domain/core/errors.ts";
import { bearerOf, type Credentials, type PageRequest, type PossessionProof } from "../authentication.ts";

// Checks of request headers beyond Node's. Repeated headers arrive joined (`joinDuplicateHeaders`), so
// contradicting values are never ignored.

/** The credentials of a request. Most requests need their API key only, so the rest is read on demand. */
export class HttpCredentials implements Credentials {
  readonly #request: IncomingMessage;

  constructor(request: IncomingMessage) {
    this.#request = request;
  }

  get authorization(): string | undefined {
    const { authorization, "x-api-key": apiKey } = this.#request.headers;
    return bearerOf(authorization, joined(apiKey));
  }

  get signIn(): string | undefined {
    return joined(this.#request.headers["sign-in-with-x"]);
  }

  get peer(): string | undefined {
    return this.#request.socket.remoteAddress;
  }

  get forwardedFor(): string | undefined {
    return joined(this.#request.headers["x-forwarded-for"]);
  }

  get possession(): PossessionProof {
    const { method = "GET", url = "/", headers } = this.#request;
    const [path = "/"] = url.split("?", 1);
    return { proof: joined(headers["dpop"]), method, path, request: this.#request };
  }

  get page(): PageRequest {
    const { method = "GET", headers } = this.#request;
    const { host, cookie, origin, "user-agent": userAgent } = headers;
    return { method, host, cookie, origin, site: joined(headers["sec-fetch-site"]), userAgent };
  }
}

/** Returns a header that may repeat as one value. */
export function joined(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(", ") : value;
}

/** Returns the target without scheme and authority (absolute form, RFC 9112 section 3.2.2). */
export function originForm(target: string): string {
  if (target.startsWith("/")) return target;
  const absolute = /^https?:\/\/[^/?]*/i.exec(target);
  if (!absolute) return target;
  const rest = target.slice(absolute[0].length);
  return rest.startsWith("/") ? rest : `/${rest}`;
}

/** Characters of host and port (RFC 1035 section 2.3.4): parsing a long URL takes milliseconds. */
const HOST_LIMIT = 261;

export function isHostTooLong(host: string | undefined): boolean {
  return host !== undefined && host.length > HOST_LIMIT;
}

/** @throws ToolgateError INVALID_REQUEST unless the request has one Host header (RFC 9112 section 3.2) */
export function requireHost({ httpVersion, headers }: IncomingMessage): void {
  const { host } = headers;
  if (isHostTooLong(host))
    throw new ToolgateError("INVALID_REQUEST", `Host: is longer than ${HOST_LIMIT} characters`);
  if (host === undefined ? httpVersion === "1.0" : !host.includes(",")) return;
  throw new ToolgateError("INVALID_REQUEST", "Host: must be sent, and once");
}

/** Returns a header that must not repeat. @throws ToolgateError INVALID_REQUEST */
export function singleHeader(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  if (typeof value !== "string") return undefined;
  if (value.includes(", ") && timesSent(request, name) > 1) {
    throw new ToolgateError("INVALID_REQUEST", `${name}: must be sent once`);
  }
  return value;
}

function timesSent({ rawHeaders }: IncomingMessage, name: string): number {
  return rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === name).length;
}
