/** An application that uses a key by OAuth, as the person saw it when consenting. */
export interface OAuthClient {
  /** The address of its metadata document, `oac_…` of a registered one, or an outside issuer. */
  readonly clientId: string;
  /** As the application calls itself. */
  readonly name: string;
  /** Of its metadata document, else of its redirect address. */
  readonly host: string;
  /** Whether the host vouches for it: it serves the metadata document. */
  readonly verified: boolean;
}

/** Characters of a name that is shown. */
const NAME_LIMIT = 60;

/** Control, format and private characters, and those that change the direction of a text. */
const UNSHOWN = /[\p{C}\p{Zl}\p{Zp}]+/gu;

/** Returns the name of an application as it may be shown; its host where nothing is left. */
export function shownName(claimed: string | undefined, host: string): string {
  const name = shownText(claimed ?? "");
  // Without half of a character at the end.
  const shown = name
    .slice(0, NAME_LIMIT)
    .replace(/[\uD800-\uDBFF]$/, "")
    .trim();
  return shown === "" ? host.slice(0, NAME_LIMIT) : shown;
}

/** Returns a text of an application without what would change how the text around it looks. */
export function shownText(claimed: string): string {
  return claimed.replace(UNSHOWN, " ").replaceAll(/\s+/g, " ").trim();
}

/** Hosts of this machine, as redirect addresses of native applications name them (RFC 8252 section 7.3). */
export const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])$/;

/** A scheme of an application (RFC 8252 section 7.1), and none that browsers run or read files with. */
const APP_SCHEME =
  /^(?!javascript:|data:|vbscript:|file:|blob:|about:|view-source:|ftp:|wss?:)[a-z][a-z\d+.-]*:$/;

/** Returns why an application must not have this redirect address; undefined for a good one. */
export function redirectProblem(text: string): string | undefined {
  const url = URL.parse(text);
  if (!url || text.length > 500) return "must be an address of at most 500 characters";
  if (text.includes("#")) return "must have no fragment";
  if (url.username !== "" || url.password !== "") return "must have no user name or password";
  if (url.protocol === "https:") return undefined;
  if (url.protocol === "http:")
    return LOOPBACK.test(url.hostname) ? undefined : "must be https, or http on a loopback address";
  return APP_SCHEME.test(url.protocol) ? undefined : "has a scheme that is not allowed";
}

/** Whether an application runs on the person's device: only such have loopback and own schemes. */
export function isNativeRedirect(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && (url.protocol !== "https:" || LOOPBACK.test(url.hostname));
}
