import type { IncomingMessage } from "node:http";
import { ToolgateError } from "../../domain/core/errors.ts";

interface OriginPolicyOptions {
  /** HOST: address the servers listen on. */
  readonly host: string;
  readonly publicUrl: string | undefined;
  /** CORS_ORIGINS */
  readonly origins: readonly string[];
}

/** Loopback names and addresses as URLs write them. */
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Rejects pages of other origins and DNS rebinding (MCP, Streamable HTTP, security). */
export class OriginPolicy {
  readonly #origins: ReadonlySet<string>;
  /** Whether the gateway listens on loopback only; a proxy may still use its public name. */
  readonly #local: boolean;
  readonly #publicHost: string | undefined;
  /** Caches the last valid Host: most clients send the same. */
  #lastValidHost: string | undefined;

  constructor({ host, publicUrl, origins }: OriginPolicyOptions) {
    const url = publicUrl === undefined ? undefined : new URL(publicUrl);
    this.#origins = new Set(url ? [...origins, url.origin] : origins);
    this.#publicHost = url?.hostname;
    this.#local = isLoopback(host) || host === "::1";
  }

  /** Checks Origin and, on loopback, Host. Only pages send Origin. @throws ToolgateError FORBIDDEN */
  require({ headers }: Pick<IncomingMessage, "headers">): void {
    const { origin, host } = headers;
    if (origin !== undefined && !this.#accepts(origin, host))
      throw new ToolgateError(
        "FORBIDDEN",
        "Origin: not allowed; the operator lists allowed origins in CORS_ORIGINS",
      );
    if (!this.#local || host === undefined || host === this.#lastValidHost) return;
    const name = nameOf(host);
    if (!isLoopback(name) && name !== this.#publicHost) throw unknownHost();
    this.#lastValidHost = host;
  }

  /** Whether pages of the request's Origin may call, without cookies, and read the answer. */
  allows(request: Pick<IncomingMessage, "headers">): boolean {
    try {
      this.require(request);
      return true;
    } catch (error) {
      if (error instanceof ToolgateError) return false;
      throw error;
    }
  }

  /** Any page may call a public name: it has no key by itself, and one that rebinds has another Host. */
  #accepts(origin: string, host: string | undefined): boolean {
    if (this.#origins.has(origin) || (this.#local && isLoopback(originHost(origin)))) return true;
    const name = this.#publicHost;
    return name !== undefined && !isLoopback(name) && host !== undefined && nameOf(host) === name;
  }
}

function unknownHost(): ToolgateError {
  return new ToolgateError(
    "FORBIDDEN",
    "Host: unknown name; this gateway is local only, and the operator sets PUBLIC_URL",
  );
}

/** The name in a Host header. */
function nameOf(host: string): string {
  return host.replace(/:\d*$/, "").toLowerCase();
}

function originHost(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).hostname : "";
}

/** Returns whether a host name, as URLs write it, is of this machine. */
export function isLoopback(name: string): boolean {
  return LOOPBACK.test(name);
}
