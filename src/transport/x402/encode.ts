/** A value as x402 puts it into a header: standard base64 with padding, of JSON in UTF-8. The official clients refuse base64url. */
export function encodeHeader(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64");
}
