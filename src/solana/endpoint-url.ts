/** An RPC address, taken apart so that what may be a secret (path, query, user) is never told. */
export interface EndpointUrl {
  /** Host and port: all that errors and logs say. */
  readonly host: string;
  /** What is asked; without user and password. */
  readonly address: string;
  /** Basic credentials that the URL carried (RFC 7617). */
  readonly authorization: string | undefined;
}

/**
 * Reads one entry of SOLANA_RPC_URLS.
 * @param position 1-based, for the error: the text itself may hold a key
 * @throws TypeError when it is no http(s) URL
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
