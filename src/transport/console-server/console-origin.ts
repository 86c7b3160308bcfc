import { ToolgateError } from "../../domain/core/errors.ts";
import type { PageRequest } from "../authentication.ts";
import { OriginPolicy, isLoopback } from "../http/origin-policy.ts";
import { cookieFormOf, type CookieForm } from "./cookie.ts";

export interface ConsoleOriginOptions {
  /** HOST: address the servers listen on. */
  readonly host: string;
  /** CONSOLE_URL or PUBLIC_URL, if set. */
  readonly publicUrl: string | undefined;
  /** Address of the console; available after the servers listen. */
  readonly url: () => string;
}

/** Host header (RFC 9110 section 7.2). */
const HOST = /^([\w.-]+|\[::1\])(?::(\d{1,5}))?$/;

/** The console's own origin. Accepts requests from its own pages only. */
export class ConsoleOrigin {
  readonly #url: () => string;
  #parsed: { readonly text: string; readonly url: URL } | undefined;
  readonly #policy: OriginPolicy;

  constructor({ host, publicUrl, url }: ConsoleOriginOptions) {
    this.#url = url;
    this.#policy = new OriginPolicy({ host, publicUrl, origins: [] });
  }

  get url(): URL {
    const text = this.#url();
    if (this.#parsed?.text !== text) this.#parsed = { text, url: new URL(text) };
    return this.#parsed.url;
  }

  /** Undefined when the console is served without https on another machine. */
  get cookie(): CookieForm | undefined {
    return cookieFormOf(this.url);
  }

  /** Returns where to redirect a page requested under another name of this machine; undefined: nowhere. */
  canonicalUrl(host: string | undefined, path: string): string | undefined {
    const { url } = this;
    const [, hostname, port = "80"] = HOST.exec(host ?? "") ?? [];
    if (hostname === undefined || url.protocol !== "http:") return undefined;
    if (!isLoopback(url.hostname) || !isLoopback(hostname.toLowerCase())) return undefined;
    const isSamePort = Number(port) === Number(url.port || "80");
    return isSamePort && hostname.toLowerCase() !== url.hostname ? `${url.origin}${path}` : undefined;
  }

  /** @throws ToolgateError FORBIDDEN when the session cookie would travel unencrypted */
  requireCookie(): CookieForm {
    const { cookie } = this;
    if (cookie) return cookie;
    throw new ToolgateError(
      "FORBIDDEN",
      `sign-in requires https or a loopback address; the console is at ${this.url.href}, ` +
        "and the operator sets PUBLIC_URL or CONSOLE_URL to its https:// address",
    );
  }

  /**
   * Accepts requests from the console's own pages. Changes need the right Origin, which browsers always send.
   * Reads may lack an Origin; then Sec-Fetch-Site decides if the browser sends it.
   * @throws ToolgateError FORBIDDEN
   */
  requireOwnPage({ method, host, origin, site }: PageRequest): void {
    this.#policy.require({ headers: { ...(host !== undefined && { host }) } });
    const reads = method === "GET" || method === "HEAD";
    if (origin === undefined ? !reads : origin !== this.url.origin) throw this.#foreignPage("Origin");
    if (site !== undefined && site !== "same-origin" && !(reads && site === "none"))
      throw this.#foreignPage("Sec-Fetch-Site");
  }

  #foreignPage(header: string): ToolgateError {
    return new ToolgateError(
      "FORBIDDEN",
      `${header}: only the console's own pages may send this; open ${this.url.href} ` +
        "(the operator sets PUBLIC_URL or CONSOLE_URL)",
    );
  }
}
