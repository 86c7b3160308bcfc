import { invalidField, type Refusal, ToolgateError } from "../domain/core/errors.ts";
import type { JsonObject, JsonValue } from "../domain/core/json.ts";
import type { ServerApi } from "../domain/tools/chat.ts";

/** What becomes of a member: `converted` between APIs, `passed` as it came, or without effect. */
export type Fate = "converted" | "passed" | "ignored" | "left out" | "refused";

export interface MemberRule {
  /** For servers of the same API, and for those of another. */
  readonly same: Fate;
  readonly other: Fate;
  /** Why it is left out or refused; what to send instead. */
  readonly why?: string;
  /** What clients look for in a refusal. */
  readonly code?: string;
}

/** Members, or values of `type`, by name. */
export type MemberTable = Readonly<Record<string, MemberRule>>;

/** A short form of a rule. */
export function rule(same: Fate, other: Fate = same, why?: string, code?: string): MemberRule {
  return { same, other, ...(why !== undefined && { why }), ...(code !== undefined && { code }) };
}

/** Why, unless a rule says so. */
export const LACKED = "servers of this model lack it";

/** What is done with a name that no table has. */
const UNKNOWN = rule("left out", "left out", "the gateway does not know it");

/** A request, as far as it decides what becomes of its members. */
export interface Reading {
  /** Whether a server of the same API gets it. */
  readonly isSame: boolean;
  /** That its servers speak. */
  readonly api?: ServerApi | undefined;
  /** Whether servers get what the gateway does not know. */
  readonly isOpen: boolean;
  /** Words for the caller, for each member that is left out. */
  readonly notes: Set<string>;
}

/** Returns what becomes of a member, and notes what is left out. @throws ToolgateError INVALID_REQUEST */
export function fateOf(table: MemberTable, name: string, path: string, reading: Reading): Fate {
  const known = Object.hasOwn(table, name) ? table[name] : undefined;
  const { same, other, why = LACKED, code } = known ?? UNKNOWN;
  const fate = !known && reading.isOpen ? "passed" : reading.isSame ? same : other;
  if (fate === "refused") throw refused(path, why, code);
  if (fate === "left out") reading.notes.add(`${path}: left out; ${why}`);
  return fate;
}

function refused(path: string, why: string, code: string | undefined): ToolgateError {
  const { message } = invalidField(`params.${path}`, why);
  const refusal: Refusal | undefined = code === undefined ? undefined : { code, param: path };
  return new ToolgateError("INVALID_REQUEST", message, refusal && { refusal });
}

/** Returns the members that are sent or converted. Null and empty lists say nothing. */
export function keptMembers(body: JsonObject, table: MemberTable, reading: Reading): JsonObject {
  const kept: [string, JsonValue][] = [];
  for (const [name, value] of Object.entries(body)) {
    if (value === null || (Array.isArray(value) && value.length === 0 && name !== "messages")) continue;
    const fate = fateOf(table, name, name, reading);
    if (fate === "converted" || fate === "passed") kept.push([name, value]);
  }
  return Object.fromEntries(kept);
}
