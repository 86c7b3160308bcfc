import type { Caller } from "../../domain/accounts/caller.ts";
import { type KeyRules, validateNewKey } from "../../domain/accounts/new-key.ts";
import {
  type GrantTerms,
  grantHashOf,
  type OutsideIdentity,
  shownIdentity,
} from "../../domain/accounts/outside-identity.ts";
import type { Clock } from "../../domain/core/clock.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { Lru } from "../../domain/core/lru.ts";
import type { ApiKeys } from "../accounts/api-keys.ts";
import type { GrantedKeys } from "../accounts/authenticator.ts";

/** How long an identity without a working grant is refused without a query, ms; and how many. */
const [REFUSED_MS, MAX_REFUSED] = [5_000, 1_000];

export interface OutsideGrant {
  readonly identity: OutsideIdentity;
  readonly terms: GrantTerms;
  /** Whether it is made on first use. */
  readonly firstUse: boolean;
  /** As the console shows it; default: the subject. */
  readonly name?: string | undefined;
}

export interface OutsideGrantsParts {
  readonly keys: GrantedKeys;
  readonly apiKeys: Pick<ApiKeys, "grant">;
  readonly rules: () => KeyRules;
  readonly resource: () => string;
  readonly clock: Clock;
}

/** The grants of identities that the operator trusts: keys without a secret, made on first use. */
export class OutsideGrants {
  readonly #parts: OutsideGrantsParts;
  readonly #refused = new Lru<string, number>(MAX_REFUSED);

  constructor(parts: OutsideGrantsParts) {
    this.#parts = parts;
  }

  /**
   * Returns the caller of a grant's key, synchronously if cached.
   * @throws ToolgateError UNAUTHORIZED for a revoked or expired grant, or when none can be made
   */
  callerOf(grant: OutsideGrant): Caller | Promise<Caller> {
    const hash = grantHashOf(grant.identity);
    const found = this.#parts.keys.callerOf(hash);
    if (found instanceof Promise) return found.then((caller) => caller ?? this.#first(grant, hash));
    return found ?? this.#first(grant, hash);
  }

  async #first(grant: OutsideGrant, hash: string): Promise<Caller> {
    const now = this.#parts.clock.now();
    const age = now - (this.#refused.get(hash) ?? Number.NEGATIVE_INFINITY);
    if (age >= 0 && age < REFUSED_MS) throw notGranted();
    const caller = grant.firstUse ? await this.#create(grant, hash) : undefined;
    if (caller) return caller;
    this.#refused.set(hash, now);
    throw notGranted();
  }

  async #create({ identity, terms, name }: OutsideGrant, hash: string): Promise<Caller | undefined> {
    const { apiKeys, rules, resource, keys } = this.#parts;
    const client = shownIdentity(identity, name);
    const wanted = { name: client.name, scopes: terms.scopes, limits: terms.limits, groupId: terms.groupId };
    try {
      const key = { accountId: identity.accountId, ...validateNewKey(wanted, rules()) };
      await apiKeys.grant(key, { client, resource: resource(), hash });
    } catch (error) {
      if (!(error instanceof ToolgateError) || error.code === "UNAVAILABLE") throw error;
      this.#refused.set(hash, this.#parts.clock.now());
      throw new ToolgateError("UNAUTHORIZED", `no access can be granted: ${error.message}`, { cause: error });
    }
    return keys.callerOf(hash, true);
  }
}

function notGranted(): ToolgateError {
  return new ToolgateError(
    "UNAUTHORIZED",
    "the access of this identity was revoked, has expired or was not granted; ask the operator",
  );
}
