import { isSameLimits, type KeyLimits, NO_LIMITS } from "./budget.ts";
import { invalidField, ToolgateError } from "../core/errors.ts";
import { DEFAULT_SCOPES, isScope, SCOPES, type Scope } from "./scope.ts";

export interface NewKey {
  name: string;
  scopes: readonly Scope[];
  limits?: KeyLimits | undefined;
  /** `grp_…` */
  groupId?: string | undefined;
}

/** An unvalidated request for a key; only lengths are checked. */
export interface RequestedKey {
  readonly name: string;
  /** Empty: the default scopes. */
  readonly scopes: readonly string[];
  readonly limits: RequestedLimits | undefined;
  /** Empty: no group. */
  readonly groupId?: string | undefined;
}

/** Members that are left out are unlimited in a new key and stay as they are in a change. */
export interface RequestedLimits extends Partial<Omit<KeyLimits, "tools">> {
  /** Empty: all tools. */
  readonly tools?: readonly string[];
}

export interface KeyRules {
  /** Names of all tools, including unavailable ones. */
  readonly tools: readonly string[];
  /** ms */
  readonly now: number;
}

/** Control characters, line breaks and direction overrides that would garble a displayed name. */
const UNSEEN = /[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]/u;

/** Validates a requested key. @throws ToolgateError INVALID_REQUEST naming the field by its path */
export function validateNewKey({ name, scopes, limits, groupId }: RequestedKey, rules: KeyRules): NewKey {
  return {
    name: nameOf(name),
    scopes: scopesOf(scopes),
    limits: limits && { ...NO_LIMITS, ...limitsOf(limits, rules) },
    groupId: groupId === "" ? undefined : groupId,
  };
}

/** An unvalidated change of a key; undefined members stay as they are. */
interface RequestedChange {
  readonly name: string | undefined;
  readonly limits: RequestedLimits | undefined;
  readonly expected?: RequestedLimits | undefined;
  /** Empty: no group. */
  readonly groupId: string | undefined;
}

/** A change of a key; undefined members stay as they are. */
export interface KeyChange {
  readonly name: string | undefined;
  /** Limits that are left out stay as they are. */
  readonly limits: Partial<KeyLimits> | undefined;
  /** The limits that the change was made for; undefined: any. */
  readonly expected?: Partial<KeyLimits> | undefined;
  /** Undefined member: no group. */
  readonly group: { readonly groupId: string | undefined } | undefined;
}

/**
 * Validates a requested change of a key.
 * @throws ToolgateError INVALID_REQUEST naming the field by its path
 */
export function validateKeyChange(
  { name, limits, expected, groupId }: RequestedChange,
  rules: KeyRules,
): KeyChange {
  if (name === undefined && limits === undefined && groupId === undefined)
    throw nothingToChange("name, limits or group_id");
  return {
    name: name === undefined ? undefined : nameOf(name),
    limits: limits && limitsOf(limits, rules),
    expected: expected && withToolSet(expected),
    group: groupId === undefined ? undefined : { groupId: groupId === "" ? undefined : groupId },
  };
}

/** INVALID_REQUEST for a change without members. */
export function nothingToChange(members: string): ToolgateError {
  return new ToolgateError("INVALID_REQUEST", `nothing to change; set ${members}`);
}

/** @throws ToolgateError INVALID_REQUEST unless the limits are those that the change was made for */
export function requireExpected(
  limits: Partial<KeyLimits> | undefined,
  expected: Partial<KeyLimits> | undefined,
): void {
  if (expected && !isSameLimits(limits, expected))
    throw invalidField("expected_limits", "the limits were changed meanwhile; read them again and repeat");
}

/** Validates the displayed name of a key or group. @throws ToolgateError INVALID_REQUEST */
export function nameOf(wanted: string): string {
  const name = wanted.trim();
  if (name === "" && wanted !== "") throw invalidField("name", "must not be blank");
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

function limitsOf(limits: RequestedLimits, rules: KeyRules): Partial<KeyLimits> {
  const { expiresAt, tools = [] } = limits;
  if (expiresAt && !(expiresAt.getTime() > rules.now))
    throw invalidField(
      "limits.expires_at",
      "must be in the future; leave it out for a key that does not expire",
    );
  for (const [index, tool] of tools.entries()) {
    if (!rules.tools.includes(tool))
      throw invalidField(`limits.tools[${index}]`, `must be one of ${rules.tools.join(", ")}`);
  }
  return withToolSet(limits);
}

function withToolSet({ tools, ...limits }: RequestedLimits): Partial<KeyLimits> {
  return { ...limits, ...(tools && { tools: tools.length === 0 ? undefined : new Set(tools) }) };
}
