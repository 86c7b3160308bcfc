import type { Header } from "../headers.ts";
import { isLoopback } from "../http/origin-policy.ts";

/** Name and attributes of the session cookie (RFC 6265bis). */
export interface CookieForm {
  readonly name: string;
  /** Whether the cookie requires https. */
  readonly secure: boolean;
}

/** 32 bytes in base64url, after the number of a cell and a dot if there are cells; blanks may follow. */
const TOKEN = /^((?:[1-9]\d{0,4}\.)?[\w-]{43})[ \t]*$/;

/** Returns the cookie's form: `__Host-` over https, plain on loopback. @returns undefined: unencrypted */
export function cookieFormOf({ protocol, hostname }: URL): CookieForm | undefined {
  if (protocol === "https:") return { name: "__Host-toolgate_session", secure: true };
  return isLoopback(hostname) ? { name: "toolgate_session", secure: false } : undefined;
}

/**
 * Returns the session token of a Cookie header. Undefined when absent or repeated: a sibling host may have
 * set the other. Strips only the blanks that browsers strip (RFC 6265bis section 5.6); stripping more would
 * accept names that the `__Host-` prefix does not protect. All patterns are linear: anyone may send 32 KiB of
 * blanks.
 */
export function tokenFromCookie(cookie: string | undefined, { name }: CookieForm): string | undefined {
  if (cookie === undefined) return undefined;
  const values = [...cookie.matchAll(new RegExp(`(?:^|;)[ \\t]*${name}=([^;]*)`, "g"))];
  return values.length === 1 ? TOKEN.exec(values[0]?.[1] ?? "")?.[1] : undefined;
}

/** Returns the header that sets the cookie. @param maxAgeSeconds longest life of the session */
export function setCookieHeader(form: CookieForm, token: string, maxAgeSeconds: number): Header {
  return ["set-cookie", `${form.name}=${token}; Max-Age=${maxAgeSeconds}; ${attributes(form)}`];
}

export function clearCookieHeader(form: CookieForm): Header {
  return ["set-cookie", `${form.name}=; Max-Age=0; ${attributes(form)}`];
}

function attributes({ secure }: CookieForm): string {
  return `Path=/; HttpOnly; ${secure ? "Secure; " : ""}SameSite=Strict`;
}
