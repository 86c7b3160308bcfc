import { target } from "../../domain/calls/absent.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";

/** Counted up to here, which also ends references in a circle. */
const MAX_RULES = 1_000;

/** The library compares items by their canonical JSON, in rules. */
const UNIQUE_ITEMS = 20;

/** Returns how many rules of a schema may apply to one value; Infinity if their number bounds no time. */
export function rulesOf(schema: JsonObject): number {
  let rules = 0;
  const count = (value: JsonValue | undefined): void => {
    if (value === undefined || ++rules > MAX_RULES) return;
    if (Array.isArray(value)) return value.forEach(count);
    if (!isJsonObject(value)) return;
    const { $ref, $dynamicRef, pattern, patternProperties, uniqueItems } = value;
    const patterns = [pattern, ...Object.keys(isJsonObject(patternProperties) ? patternProperties : {})];
    const isBounded = patterns.every((one) => typeof one !== "string" || isLinear(one));
    if (uniqueItems === true) rules += UNIQUE_ITEMS;
    if (!isBounded || $dynamicRef !== undefined) rules = Infinity;
    if (typeof $ref === "string") count(target(schema, $ref) ?? { $dynamicRef: $ref });
    for (const [name, member] of Object.entries(value)) if (name !== "$defs") count(member);
  };
  count(schema);
  return rules > MAX_RULES ? Infinity : rules;
}

const [ATOMS, GROUP_STARTS, FIXED_REPEATS] = [
  /\\.|\[(?:\\.|[^\]\\])*\]/gsu,
  /\((?:\?:|\?<\w+>)/g,
  /(?<=[^)])\{\d+\}/g,
];

/**
 * Whether matching a pattern takes time proportional to the text: an engine that backtracks has at most one
 * place to choose, from one start, or only alternatives of fixed length. A reference back compares text at
 * each choice.
 */
function isLinear(pattern: string): boolean {
  if (/\\[1-9k]/.test(pattern)) return false;
  const plain = pattern.replace(ATOMS, "a").replace(GROUP_STARTS, "(");
  const choices = plain.replace(FIXED_REPEATS, "").match(/[*+?{|]/g)?.length ?? 0;
  return (plain.startsWith("^") && choices <= 1) || /^\^?\(?[^()*+?{]*\)?\$?$/.test(plain);
}
