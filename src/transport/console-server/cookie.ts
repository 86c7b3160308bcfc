import type { Header } from "../header.ts";

/** How a session's cookie is named and kept (RFC 6265bis). */
export interface CookieForm {
  readonly name: string;
  /** Whether it travels over https alone. */
  readonly secure: boolean;
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** 32 bytes in base64url, and blanks behind them. */
const TOKEN = /^([\w-]{43})[ \t]*$/;

/**
 * The cookie of a console: over https one that no other host and no other path can lay over it (prefix `__Host-`); over http a plain
 * one, and that on this machine only.
 * @returns undefined where a cookie would travel for all to read
 */
export function cookieFormOf({ protocol, hostname }: URL): CookieForm | undefined {
  if (protocol === "https:") return { name: "__Host-toolgate_session", secure: true };
  return isLoopback(hostname) ? { name: "toolgate_session", secure: false } : undefined;
}

/** Whether a host name, as URLs have it, is this machine's own. */
export function isLoopback(hostname: string): boolean {
  return LOOPBACK.test(hostname);
}

/**
 * The session's token in a Cookie header; undefined without one, and with two of the name: a sibling host may have set the other. Of a
 * name only the blanks are stripped that browsers strip (RFC 6265bis section 5.6): a server that strips more would take a cookie for
 * the one with the prefix that no browser protects. Every pattern here is linear: anyone can send 32 KiB of blanks.
 */
export function tokenFromCookie(cookie: string | undefined, { name }: CookieForm): string | undefined {
  if (cookie === undefined) return undefined;
  const values = [...cookie.matchAll(new RegExp(`(?:^|;)[ \\t]*${name}=([^;]*)`, "g"))];
  return values.length === 1 ? TOKEN.exec(values[0]?.[1] ?? "")?.[1] : undefined;
}

/** The header that gives the cookie to the browser. @param maxAgeSeconds the longest that the session lasts */
export function setCookieHeader(form: CookieForm, token: string, maxAgeSeconds: number): Header {
  return ["set-cookie", `${form.name}=${token}; Max-Age=${maxAgeSeconds}; ${attributes(form)}`];
}

/** The header that takes the cookie away. */
export function clearCookieHeader(form: CookieForm): Header {
  return ["set-cookie", `${form.name}=; Max-Age=0; ${attributes(form)}`];
}

function attributes({ secure }: CookieForm): string {
  return `Path=/; HttpOnly; ${secure ? "Secure; " : ""}SameSite=Strict`;
}
