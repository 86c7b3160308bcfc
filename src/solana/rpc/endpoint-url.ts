/** A parsed RPC URL; its path, query and user may be secret and are never logged. */
export interface EndpointUrl {
  /** Host and port, the only part in errors and logs. */
  readonly host: string;
  /** Request URL without user and password. */
  readonly address: string;
  /** Basic credentials that the URL carried (RFC 7617). */
  readonly authorization: string | undefined;
}

/**
 * Parses one entry of SOLANA_RPC_URLS.
 * @param position 1-based, for the error: the text may hold a secret
 * @throws TypeError unless it is an http(s) URL
 */
export function parseEndpointUrl(text: string, position: number): EndpointUrl {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new TypeError(`SOLANA_RPC_URLS: entry ${position} is not an http or https URL`);
  }
  const { username, password, host } = url;
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  url.username = "";
  url.password = "";
  const authorization =
    username === "" && password === "" ? undefined : `Basic ${Buffer.from(credentials).toString("base64")}`;
  return { host, address: url.href, authorization };
}
