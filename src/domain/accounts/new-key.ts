import type { KeyLimits } from "./caller.ts";
import { invalidField } from "../core/errors.ts";
import type { MicroUsd } from "../core/money.ts";
import { DEFAULT_SCOPES, isScope, SCOPES, type Scope } from "./scope.ts";

/** What a new key is to be. */
export interface NewKey {
  name: string;
  scopes: readonly Scope[];
  limits?: KeyLimits | undefined;
}

/** What somebody wishes a new key to be. Nothing of it was looked at yet but its lengths. */
export interface RequestedKey {
  readonly name: string;
  /** The default ones when there are none. */
  readonly scopes: readonly string[];
  readonly limits: RequestedLimits | undefined;
}

/** Limits that somebody wishes; amounts in micro-USD. */
export interface RequestedLimits {
  readonly expiresAt?: Date | undefined;
  readonly perCall?: MicroUsd | undefined;
  readonly perDay?: MicroUsd | undefined;
  /** All when there are none. */
  readonly tools: readonly string[];
}

/** What wishes are held against. */
export interface KeyRules {
  /** The names of all tools, announced ones included. */
  readonly tools: readonly string[];
  /** ms */
  readonly now: number;
}

/** What would break a line or turn the order of its letters around, wherever the name is shown. */
const UNSEEN = /[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]/u;

/**
 * The key that is wished for, if there can be such a key.
 * @throws ToolgateError INVALID_REQUEST, which names the field by its path
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

/** Undefined when none of them limits anything. */
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
