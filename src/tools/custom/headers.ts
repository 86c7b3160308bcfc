/** RFC 9110, 5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/;

/** gRPC metadata with text values; `-bin` names hold bytes (PROTOCOL-HTTP2, Custom-Metadata). */
const TEXT_METADATA = /^(?!.*-bin$)[\da-z_.-]+$/i;

/** Printable ASCII without surrounding whitespace, which all servers parse alike (RFC 9110, 5.5). */
const VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;

/** Set by the gateway or HTTP itself: other values could redirect a request or change its framing. */
const RESERVED =
  /^(?:accept|accept-encoding|connection|content-.*|cookie2?|expect|grpc-.*|host|idempotency-key|keep-alive|mcp-.*|proxy-.*|te|trailer|transfer-encoding|upgrade|user-agent)$/i;

/** Shorter values such as `en` or `v2` are not secret; redacting them would damage logs. */
const MIN_SECRET_LENGTH = 6;

/** Returns what is wrong with a configured header, without its value. */
export function headerProblem(header: string, variable: string, value: string): string | undefined {
  if (!TOKEN.test(header)) return "is not a valid header name";
  if (RESERVED.test(header)) return "is set by the gateway itself; leave it out";
  if (value === "") return `the environment variable ${variable} is not set`;
  if (!VALUE.test(value))
    return `the value of ${variable} must be visible characters of ASCII, without line breaks`;
  return undefined;
}

/** Whether the header can be text metadata of gRPC. */
export function isTextMetadata(header: string): boolean {
  return TEXT_METADATA.test(header);
}

export function isReserved(header: string): boolean {
  return RESERVED.test(header);
}

/** Returns the secrets in a header: value, credentials (RFC 9110, 11.4), and those of Basic (RFC 7617). */
export function secretsOfHeader(value: string): string[] {
  const credentials = /^[A-Za-z][\w-]* +(\S.*)$/.exec(value)?.[1] ?? "";
  const basic = /^basic /i.test(value) ? Buffer.from(credentials, "base64").toString() : "";
  const password = basic.slice(basic.indexOf(":") + 1);
  return [...new Set([value, credentials, basic, password])].filter(
    (secret) => secret.length >= MIN_SECRET_LENGTH,
  );
}
