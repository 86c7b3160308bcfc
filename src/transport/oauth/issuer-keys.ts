import type { JSONWebKeySet, JWTVerifyGetKey } from "jose";
import { z } from "zod";
import type { Clock } from "../../domain/core/clock.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { Log } from "../../domain/core/log.ts";
import type { OpenFetch } from "../../outbound/guarded-fetch.ts";
import { isLoopback } from "../http/origin-policy.ts";

/** Largest metadata and largest key set, bytes. */
const MAX_BYTES = 256 * 1024;

/** How long one answer may take, ms. */
const TIMEOUT_MS = 5_000;

/** How old keys may be: then they are read again, and if that fails they are used for longer, ms. */
const [FRESH_MS, STALE_MS] = [600_000, 3_600_000];

/** The shortest time between two attempts, whatever tokens arrive, ms. */
const COOLDOWN_MS = 30_000;

const metadata = z.object({ issuer: z.string(), jwks_uri: z.string() });
const keySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(200) });

export interface IssuerKeysParts {
  readonly clock: Clock;
  readonly log: Pick<Log, "warn">;
}

/** The public keys of an issuer, by its metadata (RFC 8414 section 3, OpenID Connect Discovery section 4). */
export class IssuerKeys {
  readonly #issuer: string;
  readonly #parts: IssuerKeysParts;
  readonly #isLocal: boolean;
  #opened: Pick<OpenFetch, "fetch"> | undefined;
  #found: { readonly key: JWTVerifyGetKey; readonly since: number } | undefined;
  #triedAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(issuer: string, parts: IssuerKeysParts) {
    this.#issuer = issuer;
    this.#parts = parts;
    this.#isLocal = isLoopback(new URL(issuer).hostname);
  }

  /**
   * Returns the key of a token. Reads them again for one that is unknown, at most every 30 seconds.
   * @throws ToolgateError UNAVAILABLE; the library's JWKSNoMatchingKey
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    if (this.#ageOf(this.#found) > FRESH_MS) await this.#read();
    const { errors } = await import("jose");
    try {
      return await this.#current()(header, token);
    } catch (error) {
      const before = this.#found;
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await this.#read();
      if (this.#found === before) throw error;
      return this.#current()(header, token);
    }
  };

  #ageOf(found: { readonly since: number } | undefined): number {
    return found ? this.#parts.clock.now() - found.since : Number.POSITIVE_INFINITY;
  }

  #current(): JWTVerifyGetKey {
    if (this.#found && this.#ageOf(this.#found) <= STALE_MS) return this.#found.key;
    throw new ToolgateError("UNAVAILABLE", "the keys of the token's issuer cannot be read; try again later", {
      retryAfterSeconds: COOLDOWN_MS / 1000,
    });
  }

  /** Reads the keys, once for all who wait, unless that was tried just now. */
  async #read(): Promise<void> {
    const now = this.#parts.clock.now();
    if (!this.#reading && now - this.#triedAt < COOLDOWN_MS) return;
    this.#triedAt = this.#reading ? this.#triedAt : now;
    this.#reading ??= this.#readKeys(now)
      .catch((error: unknown) =>
        this.#parts.log.warn({ err: error, issuer: this.#issuer }, "keys of an OAuth issuer not read"),
      )
      .finally(() => (this.#reading = undefined));
    await this.#reading;
  }

  async #readKeys(now: number): Promise<void> {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const url = await this.#keysUrl(signal);
    const keys = keySet.parse(await this.#json(url, signal));
    const { createLocalJWKSet } = await import("jose");
    this.#found = { key: createLocalJWKSet(keys satisfies JSONWebKeySet), since: now };
  }

  async #keysUrl(signal: AbortSignal): Promise<string> {
    const { origin, pathname } = new URL(this.#issuer);
    const path = pathname.replace(/\/$/, "");
    const places = [
      `${origin}${path}/.well-known/openid-configuration`,
      `${origin}/.well-known/oauth-authorization-server${path}`,
    ];
    let problem: unknown;
    for (const place of places) {
      try {
        const found = metadata.parse(await this.#json(place, signal));
        // RFC 8414 section 3.3: else another tenant of the host could answer.
        if (found.issuer !== this.#issuer) throw new Error(`${place} is of another issuer`);
        return found.jwks_uri;
      } catch (error) {
        problem = error;
      }
    }
    throw problem;
  }

  async #json(url: string, signal: AbortSignal): Promise<unknown> {
    const { protocol, hostname } = new URL(url);
    if (protocol !== "https:" && !(this.#isLocal && isLoopback(hostname)))
      throw new Error(`${url} is not https`);
    const { openGuardedFetch } = await import("../../outbound/guarded-fetch.ts");
    const network = this.#isLocal ? "any" : "public";
    this.#opened ??= openGuardedFetch({ network, maxBytes: MAX_BYTES });
    const answer = await this.#opened.fetch(url, { headers: { accept: "application/json" }, signal });
    if (answer.status === 200) return answer.json();
    await answer.body?.cancel();
    throw new Error(`${url} responds with ${answer.status}`);
  }
}
