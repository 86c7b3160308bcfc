import type { KeyLimits } from "./caller.ts";
import { invalidField } from "../core/errors.ts";
import type { MicroUsd } from "../core/money.ts";
import { DEFAULT_SCOPES, isScope, SCOPES, type Scope } from "./scope.ts";

export interface NewKey {
  name: string;
  scopes: readonly Scope[];
  limits?: KeyLimits | undefined;
}

/** An unvalidated request for a key; only lengths are checked. */
export interface RequestedKey {
  readonly name: string;
  /** Empty: the default scopes. */
  readonly scopes: readonly string[];
  readonly limits: RequestedLimits | undefined;
}

/** Amounts in micro-USD. */
export interface RequestedLimits {
  readonly expiresAt?: Date | undefined;
  readonly perCall?: MicroUsd | undefined;
  readonly perDay?: MicroUsd | undefined;
  /** Empty: all tools. */
  readonly tools: readonly string[];
}

export interface KeyRules {
  /** Names of all tools, including unavailable ones. */
  readonly tools: readonly string[];
  /** ms */
  readonly now: number;
}

/** Control characters, line breaks and direction overrides that would garble a displayed name. */
const UNSEEN = /[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]/u;

/**
 * Validates a requested key.
 * @throws ToolgateError INVALID_REQUEST naming the field by its path
 */
export function validateNewKey({ name, scopes, limits }: RequestedKey, rules: KeyRules): NewKey {
  return { name: nameOf(name), scopes: scopesOf(scopes), limits: limits && limitsOf(limits, rules) };
}

function nameOf(wished: string): string {
  const name = wished.trim();
  if (name === "" && wished !== "") throw invalidField("name", "must not be blank");
  if (UNSEEN.test(name)) throw invalidField("name", "must have no control characters");
  return name;
}

function scopesOf(names: readonly string[]): readonly Scope[] {
  if (names.length === 0) return DEFAULT_SCOPES;
  return names.map((name, index) => {
    if (!isScope(name)) throw invalidField(`scopes[${index}]`, `must be one of ${SCOPES.join(", ")}`);
    return name;
  });
}

/** Undefined when nothing is limited. */
function limitsOf(
  { expiresAt, perCall, perDay, tools }: RequestedLimits,
  rules: KeyRules,
): KeyLimits | undefined {
  if (expiresAt && !(expiresAt.getTime() > rules.now))
    throw invalidField(
      "limits.expires_at",
      "must be in the future; leave it out for a key that does not expire",
    );
  for (const [index, tool] of tools.entries()) {
    if (!rules.tools.includes(tool))
      throw invalidField(`limits.tools[${index}]`, `must be one of ${rules.tools.join(", ")}`);
  }
  const limited =
    expiresAt !== undefined || perCall !== undefined || perDay !== undefined || tools.length > 0;
  if (!limited) return undefined;
  return { expiresAt, perCall, perDay, tools: tools.length === 0 ? undefined : new Set(tools) };
}
