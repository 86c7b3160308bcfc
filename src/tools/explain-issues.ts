import type { z } from "zod";
import { fieldPath, describeValue, describeType, invalidField } from "../domain/core/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../domain/core/json.ts";

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

const MAX_ISSUES = 5;

/** Explains issues, a sentence per field: `params.messages[2].role: must be one of "system", "user"`. */
export function explainIssues(issues: readonly Issue[], inputSchema: JsonObject): string {
  const sentences: string[] = [];
  for (const issue of issues.slice(0, MAX_ISSUES))
    sentences.push(...explain(issue, inputSchema, MAX_ISSUES - sentences.length));
  return sentences.join("; ");
}

/** Most items of a list, or members of an object, by the name of a parameter. */
export type ItemLimits = Readonly<Record<string, number>>;

/**
 * Refuses lists that are too long before their items are validated, each of which may be a problem.
 * @throws ToolgateError INVALID_REQUEST
 */
export function requireFewItems(params: JsonObject, limits: ItemLimits): void {
  for (const [name, most] of Object.entries(limits)) {
    const value = params[name];
    if (typeof value !== "object" || value === null) continue;
    const count = Array.isArray(value) ? value.length : Object.keys(value).length;
    if (count > most) throw invalidField(`params.${name}`, `must ${bound("array", "at most", most, true)}`);
  }
}

/** @param most number of sentences: one issue may list 100,000 members */
function explain(issue: Issue, inputSchema: JsonObject, most: number): string[] {
  if (most === 0) return [];
  if (issue.code !== "unrecognized_keys") return [`${fieldPath(issue.path)}: ${problem(issue)}`];
  const members = membersAt(inputSchema, issue.path);
  const known =
    members.length === 0
      ? "leave it out, there are no members"
      : `leave it out, there are ${members.join(", ")}`;
  return issue.keys.slice(0, most).map((key) => `${fieldPath([...issue.path, key])}: is unknown, ${known}`);
}

function problem(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined
        ? `is required, ${describeType(issue.expected)}`
        : `must be ${describeType(issue.expected)}, not ${describeValue(issue.input)}`;
    case "invalid_value": {
      const values = issue.values.map((value) => JSON.stringify(value)).join(", ");
      return `must be ${issue.values.length > 1 ? "one of " : ""}${values}`;
    }
    case "too_small":
      return `must ${bound(issue.origin, "at least", issue.minimum, issue.inclusive)}`;
    case "too_big":
      return `must ${bound(issue.origin, "at most", issue.maximum, issue.inclusive)}`;
    default:
      return issue.message;
  }
}

function bound(
  origin: string,
  side: "at least" | "at most",
  limit: number | bigint,
  inclusive: boolean | undefined,
): string {
  if (origin === "string") return `have ${side} ${limit} ${limit === 1 ? "character" : "characters"}`;
  if (origin === "array") return `have ${side} ${limit} ${limit === 1 ? "item" : "items"}`;
  if (inclusive === false) return `be ${side === "at least" ? "more than" : "less than"} ${limit}`;
  return `be ${side} ${limit}`;
}

/** Returns the member names allowed at a path. */
function membersAt(schema: JsonObject, path: Path): string[] {
  let node: JsonValue | undefined = schema;
  for (const step of path) {
    if (!isJsonObject(node)) return [];
    const properties: JsonValue | undefined = node["properties"];
    node =
      typeof step === "number"
        ? node["items"]
        : isJsonObject(properties)
          ? properties[String(step)]
          : undefined;
  }
  const properties = isJsonObject(node) ? node["properties"] : undefined;
  return isJsonObject(properties) ? Object.keys(properties) : [];
}
