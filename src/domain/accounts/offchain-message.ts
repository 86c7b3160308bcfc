/** What every off-chain message begins with, so that it can be no transaction (sRFC 3 and 38; Anza, "Off-Chain Message Signing"). */
const SIGNING_DOMAIN = Buffer.concat([Buffer.from([0xff]), Buffer.from("solana offchain", "ascii")]);

/** Where the application's domain stands in version 0: 32 bytes that the wallet chooses. */
const [DOMAIN_AT, DOMAIN_END] = [SIGNING_DOMAIN.length + 1, SIGNING_DOMAIN.length + 33];

/** How version 0 says that a text is ASCII, or UTF-8 that a hardware wallet can show. */
const FORMATS = [0, 1];

/**
 * Whether what was signed is the text: as it is, or with the header of an off-chain message before it, which names nobody else.
 * @param address the 32 bytes of the signer
 */
export function isTextSigned(signed: Uint8Array, text: string, address: Uint8Array): boolean {
  const bytes = Buffer.from(text, "utf8");
  const domain = signed.subarray(DOMAIN_AT, DOMAIN_END);
  return [Buffer.alloc(0), ...headers(domain, address, bytes.length)].some((header) =>
    Buffer.concat([header, bytes]).equals(signed),
  );
}

/** Every header that a wallet may write before a text for one signer. */
function headers(domain: Uint8Array, address: Uint8Array, length: number): Buffer[] {
  const size = Buffer.alloc(2);
  size.writeUInt16LE(length & 0xffff);
  return [
    // Version 0, as Solana's own programs and older hardware wallets write it.
    ...FORMATS.map((format) => Buffer.concat([SIGNING_DOMAIN, Buffer.from([0, format]), size])),
    // Version 0, as it was written down later.
    ...FORMATS.map((format) =>
      Buffer.concat([SIGNING_DOMAIN, Buffer.from([0]), domain, Buffer.from([format, 1]), address, size]),
    ),
    // Version 1: the text ends where the message does.
    Buffer.concat([SIGNING_DOMAIN, Buffer.from([1, 1]), address]),
  ];
}
