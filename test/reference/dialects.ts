import { DIALECTS } from "../../src/dialects/index.ts";
import { LACKED, type MemberRule, type MemberTable } from "../../src/dialects/members.ts";
import { list, withPart } from "./markdown.ts";

/** Fills docs/reference/dialects.md from the tables that the converters read. */
export function dialectsPage(page: string): string {
  return DIALECTS.reduce((text, { api, members, server }) => {
    const tables = {
      ...members,
      ...(server.chatMembers && { "Members of a chat completion": server.chatMembers }),
    };
    const parts = Object.entries(tables).map(([title, rules]) => `${title}:\n\n${list(linesOf(rules))}`);
    return withPart(text, api, parts.join(""));
  }, page);
}

/** Members that are treated alike are one line. */
function linesOf(rules: MemberTable): string[] {
  const alike = new Map<string, { readonly rule: MemberRule; readonly names: string[] }>();
  for (const [name, rule] of Object.entries(rules)) {
    const key = JSON.stringify(rule);
    const line = alike.get(key) ?? { rule, names: [] };
    line.names.push(`\`${name}\``);
    alike.set(key, line);
  }
  return [...alike.values()].map(({ rule: { why = LACKED, ...fates }, names }) => {
    const reason = why === LACKED ? "" : ` (${why})`;
    return `${fateOf(fates)}${reason}: ${names.join(", ")}`;
  });
}

/** What is passed to servers of the same API says only what becomes of it for others. */
function fateOf({ same, other }: Pick<MemberRule, "same" | "other">): string {
  if (same === "passed") return other;
  return same === other ? `always ${other}` : `${same}, else ${other}`;
}
