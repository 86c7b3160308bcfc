/** Encodes a header value of x402: padded standard base64 of JSON. The official clients reject base64url. */
export function encodeHeader(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64");
}
