import { didDocumentPath, didWeb, type JwsSigner } from "../../domain/payments/jws-signer.ts";
import type { ServedDocument } from "./document-handler.ts";

export interface DidDocumentOptions {
  readonly signer: JwsSigner;
  readonly cell: number;
  /** PUBLIC_URL */
  readonly publicUrl: string | undefined;
  /** Available after the servers listen. */
  readonly baseUrl: () => string;
}

/** Returns the documents (DID Core) of the keys that sign x402 offers and receipts. */
export function didDocuments({ signer, cell, publicUrl, baseUrl }: DidDocumentOptions): ServedDocument[] {
  // A deployment that became a cell signed for the address itself before.
  const cells = cell === 0 ? [0] : [0, cell];
  return cells.map((number) => ({
    path: didDocumentPath(publicUrl, number),
    mediaType: "application/did+json",
    // A new key signs ten seconds after instances can list it.
    maxAgeSeconds: 5,
    text: () => JSON.stringify(document(didWeb(baseUrl(), number), baseUrl(), signer)),
  }));
}

function document(did: string, baseUrl: string, signer: JwsSigner): object {
  const keys = signer.publicKeys(did);
  return {
    "@context": ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/suites/jws-2020/v1"],
    id: did,
    alsoKnownAs: [baseUrl],
    verificationMethod: keys.map(({ id, jwk }) => ({
      id,
      type: "JsonWebKey2020",
      controller: did,
      publicKeyJwk: jwk,
    })),
    assertionMethod: keys.map(({ id }) => id),
  };
}
