const LONGEST_NAME = 64;

/**
 * Formats the path of a parameter, e.g. `params.messages[2].role`; quotes names that are no identifiers,
 * cuts long ones.
 * @param path member names and array indices, outermost first
 */
export function fieldPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === "number") return `${text}[${step}]`;
    const name = String(step).slice(0, LONGEST_NAME);
    return /^[A-Za-z_]\w*$/.test(name) ? `${text}.${name}` : `${text}[${JSON.stringify(name)}]`;
  }, "params");
}

/** A JSON Schema type with its article, e.g. `an array`, `a whole number`. */
export function describeType(expected: string): string {
  if (expected === "int" || expected === "integer") return "a whole number";
  if (expected === "null") return "null";
  return /^[aeiou]/.test(expected) ? `an ${expected}` : `a ${expected}`;
}

/** The type of a value in the same words. */
export function describeValue(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "number") return Number.isInteger(value) ? "a number" : "a fraction";
  return describeType(typeof value);
}
