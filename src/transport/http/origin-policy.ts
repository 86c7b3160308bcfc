import type { IncomingMessage } from "node:http";
import { ToolgateError } from "../../domain/errors.ts";

/** Where a gateway can be found by those that it trusts. */
interface OriginPolicyOptions {
  /** HOST: where the doors listen. */
  readonly host: string;
  readonly publicUrl: string | undefined;
  /** CORS_ORIGINS */
  readonly origins: readonly string[];
}

/** Names and addresses of the machine itself, as URLs have them. */
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * Keeps web pages out that were not invited: those of other origins, and those whose name was made to point at this machine
 * (MCP, Streamable HTTP, security; DNS rebinding).
 */
export class OriginPolicy {
  readonly #origins: ReadonlySet<string>;
  /** Whether only this machine can reach the gateway, but for a proxy under its public name. */
  readonly #local: boolean;
  readonly #publicHost: string | undefined;
  /** The Host that was good the last time: as a rule all callers send the same. */
  #lastValidHost: string | undefined;

  constructor({ host, publicUrl, origins }: OriginPolicyOptions) {
    const url = publicUrl === undefined ? undefined : new URL(publicUrl);
    this.#origins = new Set(url ? [...origins, url.origin] : origins);
    this.#publicHost = url?.hostname;
    this.#local = LOOPBACK.test(host) || host === "::1";
  }

  /**
   * Looks at Origin and, where only this machine listens, at Host. A request without an origin comes from no page.
   * @throws ToolgateError FORBIDDEN
   */
  require({ headers }: Pick<IncomingMessage, "headers">): void {
    const { origin, host } = headers;
    if (
      origin !== undefined &&
      !this.#origins.has(origin) &&
      !(this.#local && isLoopback(originHost(origin)))
    )
      throw new ToolgateError(
        "FORBIDDEN",
        "Origin: pages of this origin may not call; the operator lists those that may in CORS_ORIGINS",
      );
    if (!this.#local || host === undefined || host === this.#lastValidHost) return;
    const name = host.replace(/:\d*$/, "").toLowerCase();
    if (!isLoopback(name) && name !== this.#publicHost) throw unknownHost();
    this.#lastValidHost = host;
  }
}

function unknownHost(): ToolgateError {
  return new ToolgateError(
    "FORBIDDEN",
    "Host: this gateway listens on this machine only and is not known by that name; the operator sets PUBLIC_URL",
  );
}

function originHost(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).hostname : "";
}

function isLoopback(name: string): boolean {
  return LOOPBACK.test(name);
}
