/** A name of a header (RFC 9110, 5.6.2). */
const TOKEN = /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/;

/** A name of metadata whose values are text (grpc.io, PROTOCOL-HTTP2, Custom-Metadata): those that end in `-bin` are bytes. */
const TEXT_METADATA = /^(?!.*-bin$)[\da-z_.-]+$/i;

/** Visible characters of ASCII, with single spaces and tabs between them: what every server reads alike (RFC 9110, 5.5). */
const VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;

/** What the gateway itself writes, or HTTP needs for itself: another value would change where a request goes, or where it ends. */
const RESERVED =
  /^(?:accept|accept-encoding|connection|content-.*|cookie2?|expect|grpc-.*|host|idempotency-key|keep-alive|mcp-.*|proxy-.*|te|trailer|transfer-encoding|upgrade|user-agent)$/i;

/** Shorter values say little enough to be no secrets, such as `en` or `v2`; taken out of logs they would take words with them. */
const MIN_SECRET_LENGTH = 6;

/** What is wrong with a header that the operator wants sent, without its value; undefined: nothing. */
export function headerProblem(header: string, variable: string, value: string): string | undefined {
  if (!TOKEN.test(header)) return "is no name of a header";
  if (RESERVED.test(header)) return "is written by the gateway itself; leave it out";
  if (value === "") return `the environment variable ${variable} is not set`;
  if (!VALUE.test(value))
    return `the value of ${variable} must be visible characters of ASCII, without line breaks`;
  return undefined;
}

/** Whether a header can be metadata of gRPC as text. */
export function isTextMetadata(header: string): boolean {
  return TEXT_METADATA.test(header);
}

/** Whether the gateway keeps a header to itself, so that no caller may set it. */
export function isReserved(header: string): boolean {
  return RESERVED.test(header);
}

/**
 * The secrets in the value of a header: all of it, what follows the scheme of an Authorization (RFC 9110, 11.4), and user and password of
 * a Basic one, together and apart (RFC 7617).
 */
export function secretsOfHeader(value: string): string[] {
  const credentials = /^[A-Za-z][\w-]* +(\S.*)$/.exec(value)?.[1] ?? "";
  const basic = /^basic /i.test(value) ? Buffer.from(credentials, "base64").toString() : "";
  const password = basic.slice(basic.indexOf(":") + 1);
  return [...new Set([value, credentials, basic, password])].filter(
    (secret) => secret.length >= MIN_SECRET_LENGTH,
  );
}
