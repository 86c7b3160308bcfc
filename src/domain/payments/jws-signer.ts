import { createPrivateKey, createPublicKey, sign, type KeyObject } from "node:crypto";
import type { SealingKey } from "./quote.ts";

/** Versioned secrets, each the seed of an Ed25519 key. */
export interface SigningKeys {
  current(): SealingKey;
  /** Every version, also one that is not used yet. */
  all(): readonly SealingKey[];
}

/** A public key (RFC 8037, section 2). */
interface PublicJwk {
  readonly kty: "OKP";
  readonly crv: "Ed25519";
  /** base64url */
  readonly x: string;
}

/** DER prefix of a private key before its 32 bytes of seed (RFC 8410, section 7). */
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");
/** Length of the prefix of a public key in DER (RFC 8410, section 4). */
const SPKI_LENGTH = 12;

/** Signs JSON as JWS (RFC 7515, section 7.1) with Ed25519. */
export class JwsSigner {
  readonly #keys: SigningKeys;
  /** Imported keys: importing one costs as much as a signature. */
  readonly #imported = new WeakMap<Buffer, KeyObject>();

  constructor(keys: SigningKeys) {
    this.#keys = keys;
  }

  /** The version that signs now. */
  get version(): number {
    return this.#keys.current().version;
  }

  /**
   * Returns the compact form.
   * @param did of the document that lists the keys
   * @param payload flat, its members in alphabetical order (RFC 8785)
   */
  sign(did: string, payload: Readonly<Record<string, string | number>>): string {
    const { version, secret } = this.#keys.current();
    const header = JSON.stringify({ alg: "EdDSA", kid: keyId(did, version) });
    const signed = `${encoded(header)}.${encoded(JSON.stringify(payload))}`;
    return `${signed}.${sign(null, Buffer.from(signed), this.#import(secret)).toString("base64url")}`;
  }

  publicKeys(did: string): { readonly id: string; readonly jwk: PublicJwk }[] {
    return this.#keys.all().map(({ version, secret }) => {
      const der = createPublicKey(this.#import(secret)).export({ format: "der", type: "spki" });
      const x = der.subarray(SPKI_LENGTH).toString("base64url");
      return { id: keyId(did, version), jwk: { kty: "OKP", crv: "Ed25519", x } };
    });
  }

  #import(secret: Buffer): KeyObject {
    let key = this.#imported.get(secret);
    if (!key) {
      key = createPrivateKey({ key: Buffer.concat([PKCS8, secret]), format: "der", type: "pkcs8" });
      this.#imported.set(secret, key);
    }
    return key;
  }
}

function keyId(did: string, version: number): string {
  return `${did}#key-${version}`;
}

function encoded(text: string): string {
  return Buffer.from(text).toString("base64url");
}

/** Where the document of {@link didWeb} is below the address. */
export function didDocumentPath(baseUrl: string | undefined, cell: number): string {
  if (cell > 0) return `/cells/${cell}/did.json`;
  return baseUrl === undefined || pathOf(baseUrl).length === 0 ? "/.well-known/did.json" : "/did.json";
}

/** Returns the identifier of a cell (did:web method, section 3.2). Cell 0: of the address itself. */
export function didWeb(baseUrl: string, cell: number): string {
  const parts = [new URL(baseUrl).host, ...pathOf(baseUrl), ...(cell > 0 ? ["cells", String(cell)] : [])];
  return `did:web:${parts.map(encodeURIComponent).join(":")}`;
}

function pathOf(baseUrl: string): string[] {
  return new URL(baseUrl).pathname.split("/").filter((part) => part !== "");
}
