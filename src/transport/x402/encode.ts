/** Encodes a header value of x402: padded standard base64 of JSON. The official clients reject base64url. */
export function encodeHeader(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64");
}

/** Returns the length of {@link encodeHeader} when the JSON grows by so many bytes. */
export function encodedLength(value: object, more: number): number {
  return Math.ceil((Buffer.byteLength(JSON.stringify(value)) + more) / 3) * 4;
}
