import type { Header } from "../header.ts";

/** How a session's cookie is named and kept (RFC 6265bis). */
export interface CookieForm {
  readonly name: string;
  /** Whether it travels over https alone. */
  readonly secure: boolean;
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** 32 bytes in base64url. */
const TOKEN = /^[\w-]{43}$/;

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

/** What browsers strip from a cookie's name (RFC 6265bis section 5.6), and nothing else. */
const BLANKS = /^[ \t]+|[ \t]+$/g;

/**
 * The session's token in a Cookie header; undefined when there is none, or more than one: somebody laid one over the other. Names are read
 * as browsers read them: to one that strips more, a cookie of a sibling host passes for the one with the prefix, which no browser lets it set.
 */
export function tokenIn(cookie: string | undefined, { name }: CookieForm): string | undefined {
  const values = (cookie ?? "")
    .split(";")
    .map((pair) => pair.replaceAll(BLANKS, ""))
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  const [token] = values;
  return values.length === 1 && token !== undefined && TOKEN.test(token) ? token : undefined;
}

/** The header that gives the cookie to the browser. @param maxAgeSeconds the longest that the session lasts */
export function givenCookie(form: CookieForm, token: string, maxAgeSeconds: number): Header {
  return ["set-cookie", `${form.name}=${token}; Max-Age=${maxAgeSeconds}; ${attributes(form)}`];
}

/** The header that takes the cookie away. */
export function takenCookie(form: CookieForm): Header {
  return ["set-cookie", `${form.name}=; Max-Age=0; ${attributes(form)}`];
}

function attributes({ secure }: CookieForm): string {
  return `Path=/; HttpOnly; ${secure ? "Secure; " : ""}SameSite=Strict`;
}
