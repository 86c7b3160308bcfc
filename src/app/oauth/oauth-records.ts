import type { KeySecret } from "../../domain/accounts/api-key.ts";
import type { JsonObject } from "../../domain/core/json.ts";

/** Kinds of records of the authorization server. */
export const RECORD_MODELS = [
  "AccessToken",
  "AuthorizationCode",
  "Client",
  "Interaction",
  "RefreshToken",
  "ReplayDetection",
] as const;

export type RecordModel = (typeof RECORD_MODELS)[number];

export interface OAuthRecord {
  /** Without the identifier, which is a secret for most kinds. */
  readonly payload: JsonObject;
  /** When it was used up, or an interaction was answered; undefined: not yet. */
  readonly consumedAt: Date | undefined;
}

/** A key that an application uses, while it works. */
export interface ConnectedKey {
  readonly accountId: string;
  readonly clientId: string;
  /** Audience of its tokens. */
  readonly resource: string;
  readonly scopes: readonly string[];
  /** Undefined: never. */
  readonly expiresAt: Date | undefined;
}

/** The secrets that API keys and access tokens are signed with, by versions. */
export interface TokenSecrets {
  current(): KeySecret;
  /** Returns a promise only for versions that are not loaded yet. */
  find(version: number): KeySecret | undefined | Promise<KeySecret | undefined>;
}

/** What the authorization server keeps: tokens, codes, clients and pending requests, under hashes. */
export interface OAuthRecords {
  /**
   * Stores or replaces a record. Of each key and kind, and of what strangers may store, only the newest stay.
   * @param keyId `key_…` that it belongs to
   */
  save(
    model: RecordModel,
    id: string,
    record: { payload: JsonObject; expiresAt: Date; keyId: string | undefined },
  ): Promise<void>;
  /** Returns a record that has not expired. */
  find(model: RecordModel, id: string): Promise<OAuthRecord | undefined>;
  /**
   * Uses a record up. A refresh token may be used again for 10 s, until what it gave is used.
   * @returns false if it was used up before, or is unknown: of several at the same time, one gets true
   */
  consume(model: RecordModel, id: string): Promise<boolean>;
  /** Answers an interaction, once. @returns false if it was answered before, or is unknown */
  answer(interactionId: string, result: JsonObject): Promise<boolean>;
  /** @returns false if there is none: of several at the same time, one gets true */
  remove(model: RecordModel, id: string): Promise<boolean>;
  /** Returns the key of a grant; undefined when revoked, expired or unknown. */
  connectedKey(keyId: string): Promise<ConnectedKey | undefined>;
}
