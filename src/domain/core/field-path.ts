const LONGEST_NAME = 64;

/**
 * The path of a parameter as callers read it, e.g. `params.messages[2].role`; names that are no identifiers are quoted, long ones cut.
 * @param path names of members and indices of items, the outermost first
 */
export function fieldPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === "number") return `${text}[${step}]`;
    const name = String(step).slice(0, LONGEST_NAME);
    return /^[A-Za-z_]\w*$/.test(name) ? `${text}.${name}` : `${text}[${JSON.stringify(name)}]`;
  }, "params");
}

/** A type of JSON Schema with its article, e.g. `an array`, `a whole number`. */
export function describeType(expected: string): string {
  if (expected === "int" || expected === "integer") return "a whole number";
  if (expected === "null") return "null";
  return /^[aeiou]/.test(expected) ? `an ${expected}` : `a ${expected}`;
}

/** What a value is, in the same words. */
export function describeValue(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "number") return Number.isInteger(value) ? "a number" : "a fraction";
  return describeType(typeof value);
}
