/**
 * Prefix of off-chain messages, which makes them invalid transactions (sRFC 3 and 38; Anza, "Off-Chain
 * Message Signing").
 */
const SIGNING_DOMAIN = Buffer.concat([Buffer.from([0xff]), Buffer.from("solana offchain", "ascii")]);

/** Position of the application domain in version 0: 32 bytes chosen by the wallet. */
const [DOMAIN_AT, DOMAIN_END] = [SIGNING_DOMAIN.length + 1, SIGNING_DOMAIN.length + 33];

/** Message formats of version 0: ASCII, and UTF-8 that a hardware wallet can show. */
const FORMATS = [0, 1];

/**
 * Whether the signed bytes are the text, either plain or after an off-chain message header for this signer
 * only.
 * @param address 32 bytes
 */
export function isTextSigned(signed: Uint8Array, text: string, address: Uint8Array): boolean {
  const bytes = Buffer.from(text, "utf8");
  const domain = signed.subarray(DOMAIN_AT, DOMAIN_END);
  return [Buffer.alloc(0), ...headers(domain, address, bytes.length)].some((header) =>
    Buffer.concat([header, bytes]).equals(signed),
  );
}

/** All headers that a wallet may prepend for one signer. */
function headers(domain: Uint8Array, address: Uint8Array, length: number): Buffer[] {
  const size = Buffer.alloc(2);
  size.writeUInt16LE(length & 0xffff);
  return [
    // Version 0 as written by Solana's own programs and older hardware wallets.
    ...FORMATS.map((format) => Buffer.concat([SIGNING_DOMAIN, Buffer.from([0, format]), size])),
    // Version 0 as standardized later.
    ...FORMATS.map((format) =>
      Buffer.concat([SIGNING_DOMAIN, Buffer.from([0]), domain, Buffer.from([format, 1]), address, size]),
    ),
    // Version 1, without a length: the text ends with the message.
    Buffer.concat([SIGNING_DOMAIN, Buffer.from([1, 1]), address]),
  ];
}
