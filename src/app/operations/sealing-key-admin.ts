/** What a secret does: it seals quotes, signs API keys, or signs x402 offers and receipts. */
export const KEY_PURPOSES = ["quotes", "api-keys", "receipts"] as const;

export type KeyPurpose = (typeof KEY_PURPOSES)[number];

/** A version of a secret, without the secret. */
export interface SealingKeyVersion {
  purpose: KeyPurpose;
  version: number;
  /** `pending`: used from `activeFrom` on; `active`: used now; `old`: only accepted. */
  state: "pending" | "active" | "old";
  activeFrom: Date;
  createdAt: Date;
  /** Why it may not be retired; undefined when nothing needs it. */
  neededFor: string | undefined;
}

/** The versioned secrets of the installation. */
export interface SealingKeyAdmin {
  /** Newest first, per purpose. */
  list(purpose: KeyPurpose | undefined): Promise<SealingKeyVersion[]>;
  /** Adds a version. `now`: it is used at once, also while an instance may not have loaded it. */
  rotate(rotation: { purpose: KeyPurpose; now: boolean }): Promise<SealingKeyVersion>;
  /**
   * Deletes an old version: what it sealed or signed is refused from then on. Returns it.
   * @throws ToolgateError NOT_FOUND for an unknown version; INVALID_REQUEST when it is not an old one, or is
   * still needed and `force` is not set
   */
  retire(retirement: { purpose: KeyPurpose; version: number; force: boolean }): Promise<SealingKeyVersion>;
}
