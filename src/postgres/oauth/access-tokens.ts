import type { Pool } from "pg";
import { tokenCaller, type Caller } from "../../domain/accounts/caller.ts";
import { Lru } from "../../domain/core/lru.ts";
import { Batcher } from "../database/batcher.ts";
import { RETRY_MS, withRetry } from "../database/retry.ts";

const MAX_CACHED = 10_000;

interface TokenRow {
  id: Buffer;
  sha256: Buffer;
  scope: string | null;
  jkt: string | null;
  expires_at: Date;
}

/** What never changes of an access token. */
export class AccessToken {
  /** SHA-256 of its key, hex. */
  readonly keyHash: string;
  /** ms */
  readonly expiresAt: number;
  readonly #scopes: ReadonlySet<string>;
  readonly #boundTo: string | undefined;
  /** The last caller, and the caller of the key that it was made of. */
  #last: { readonly key: Caller; readonly caller: Caller } | undefined;

  constructor({ sha256, scope, jkt, expires_at: expiresAt }: TokenRow) {
    this.keyHash = sha256.toString("hex");
    this.expiresAt = expiresAt.getTime();
    this.#scopes = new Set(scope?.split(" "));
    this.#boundTo = jkt ?? undefined;
  }

  /** Returns the token's caller. @param key the caller of its key, as it is now */
  of(key: Caller): Caller {
    if (this.#last?.key !== key) this.#last = { key, caller: tokenCaller(key, this.#scopes, this.#boundTo) };
    return this.#last.caller;
  }
}

/** Access tokens by their SHA-256, hex. Cached until their key changes or one of its tokens is removed. */
export class AccessTokens {
  readonly #cache = new Lru<string, AccessToken>(MAX_CACHED);
  readonly #lookups: Batcher<Buffer, { readonly token: AccessToken | undefined }>;
  /** Incremented per change: what was read before is not cached after it. */
  #generation = 0;

  constructor(pool: Pool) {
    this.#lookups = new Batcher({
      max: 200,
      retryMs: RETRY_MS,
      run: async (hashes, forMs) => {
        const { rows } = await withRetry(forMs, () =>
          pool.query<TokenRow>({
            name: "access-tokens-find",
            text: `select token.id, key.sha256, token.payload ->> 'scope' as scope,
                          token.payload ->> 'jkt' as jkt, token.expires_at
                   from oauth_record token join api_key key on key.id = token.key_id
                   where token.id = any ($1::bytea[]) and token.model = 'AccessToken'`,
            values: [hashes],
          }),
        );
        const found = new Map(rows.map((row) => [row.id.toString("hex"), new AccessToken(row)]));
        return hashes.map((hash) => ({ token: found.get(hash.toString("hex")) }));
      },
    });
  }

  /** Forgets the tokens of a key; undefined: all. */
  invalidate(keyHash: string | undefined): void {
    this.#generation++;
    this.#cache.deleteWhere((token) => keyHash === undefined || token.keyHash === keyHash);
  }

  known(hash: string): AccessToken | undefined {
    return this.#cache.get(hash);
  }

  async find(hash: string): Promise<AccessToken | undefined> {
    const generation = this.#generation;
    const { token } = await this.#lookups.submit(Buffer.from(hash, "hex"));
    if (token && generation === this.#generation) this.#cache.set(hash, token);
    return token;
  }
}
