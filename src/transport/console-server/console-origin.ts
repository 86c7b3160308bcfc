import { ToolgateError } from "../../domain/errors.ts";
import type { PageRequest } from "../authentication.ts";
import { OriginPolicy } from "../http/origin-policy.ts";
import { cookieFormOf, isLoopback, type CookieForm } from "./cookie.ts";

/** Where the console is. */
export interface ConsoleOriginOptions {
  /** HOST: where the doors listen. */
  readonly host: string;
  /** CONSOLE_URL or PUBLIC_URL, if set. */
  readonly publicUrl: string | undefined;
  /** The console's address; asked once the doors are open. */
  readonly url: () => string;
}

/** Name and port (RFC 9110 section 7.2). */
const HOST = /^([\w.-]+|\[::1\])(?::(\d{1,5}))?$/;

/** The console's own address, and what may be asked from there: its pages, and nobody else's. */
export class ConsoleOrigin {
  readonly #url: () => string;
  #parsed: { readonly text: string; readonly url: URL } | undefined;
  readonly #callerOrigin: OriginPolicy;

  constructor({ host, publicUrl, url }: ConsoleOriginOptions) {
    this.#url = url;
    this.#callerOrigin = new OriginPolicy({ host, publicUrl, origins: [] });
  }

  get url(): URL {
    const text = this.#url();
    if (this.#parsed?.text !== text) this.#parsed = { text, url: new URL(text) };
    return this.#parsed.url;
  }

  /** The cookie's form; undefined where nobody can sign in. */
  get cookie(): CookieForm | undefined {
    return cookieFormOf(this.url);
  }

  /**
   * Where else on this machine a page was asked for: names of the machine (`localhost`, `127.0.0.1`) are origins of their own, and only
   * one is the console's.
   * @returns the same path there; undefined where it was asked for in the right place, or by a name that says nothing
   */
  canonicalUrl(host: string | undefined, path: string): string | undefined {
    const { url } = this;
    const [, hostname, port = "80"] = HOST.exec(host ?? "") ?? [];
    if (hostname === undefined || url.protocol !== "http:") return undefined;
    if (!isLoopback(url.hostname) || !isLoopback(hostname.toLowerCase())) return undefined;
    const isSamePort = Number(port) === Number(url.port || "80");
    return isSamePort && hostname.toLowerCase() !== url.hostname ? `${url.origin}${path}` : undefined;
  }

  /** @throws ToolgateError FORBIDDEN where a session's cookie would travel for all to read */
  requireCookie(): CookieForm {
    const { cookie } = this;
    if (cookie) return cookie;
    throw new ToolgateError(
      "FORBIDDEN",
      `signing in needs https, or this machine itself; the console is at ${this.url.href}, and the operator sets PUBLIC_URL or CONSOLE_URL to its https:// address`,
    );
  }

  /**
   * Lets the console's own pages ask. What changes something must name them as its origin, which browsers always do and no other page
   * can; what only reads has no origin there, and is told by Sec-Fetch-Site where it comes from, by browsers that send it.
   * @throws ToolgateError FORBIDDEN
   */
  requireOwnPage({ method, host, origin, site }: PageRequest): void {
    this.#callerOrigin.require({ headers: { ...(host !== undefined && { host }) } });
    const reads = method === "GET" || method === "HEAD";
    if (origin === undefined ? !reads : origin !== this.url.origin) throw this.#foreignPage("Origin");
    if (site !== undefined && site !== "same-origin" && !(reads && site === "none"))
      throw this.#foreignPage("Sec-Fetch-Site");
  }

  #foreignPage(header: string): ToolgateError {
    return new ToolgateError(
      "FORBIDDEN",
      `${header}: only pages of the console may ask here, and it is at ${this.url.href}; open it there (the operator sets PUBLIC_URL or CONSOLE_URL)`,
    );
  }
}
