import { base58 } from "@scure/base";

/** The 64 bytes of a transaction signature; undefined unless the text is their one canonical base58 form. */
export function parseSignature(text: string): Uint8Array | undefined {
  return parseCanonical(text, 64, 64, 88);
}

/** The 32 bytes of a Solana address; undefined unless the text is their one canonical base58 form. */
export function parseAddress(text: string): Uint8Array | undefined {
  return parseCanonical(text, 32, 32, 44);
}

/** The text of an address's 32 bytes. */
export function formatAddress(bytes: Uint8Array): string {
  return base58.encode(bytes);
}

function parseCanonical(text: string, bytes: number, shortest: number, longest: number): Uint8Array | undefined {
  if (text.length < shortest || text.length > longest) return undefined;
  try {
    const decoded = base58.decode(text);
    return decoded.length === bytes ? decoded : undefined;
  } catch {
    return undefined;
  }
}
