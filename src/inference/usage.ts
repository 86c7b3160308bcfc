import { isJsonObject, type JsonObject, type JsonValue } from "../domain/core/json.ts";
import { otherMembers } from "./other-members.ts";
import type { ReportedUsage } from "../domain/tools/chat.ts";

/** Larger counts are treated as missing. */
const MAX_TOKENS = 1_000_000_000;

/** The counts under the names of the chat completions and of the responses (OpenAI API), and of Anthropic. */
const PROMPT = ["prompt_tokens", "input_tokens"];
const COMPLETION = ["completion_tokens", "output_tokens"];
const CACHED = ["cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens"];
const WRITTEN = ["cache_creation_input_tokens", "cache_write_tokens"];
const PROMPT_DETAILS = ["prompt_tokens_details", "input_tokens_details"];

/**
 * Reads a `usage` object. A member that is no count is as if it were missing; what the total has beyond the
 * sum is output, as servers that leave reasoning out of the completion report it.
 * @param before what was reported earlier in the same answer
 * @returns undefined unless it has a count
 */
export function readUsage(value: unknown, before: ReportedUsage = {}): ReportedUsage | undefined {
  if (!isJsonObject(value)) return undefined;
  const total = countIn(value, ["total_tokens"]);
  const sent = { prompt: promptIn(value), completion: countIn(value, COMPLETION) };
  const counts = [sent.prompt, sent.completion, total].filter((count) => count !== undefined);
  // Some servers end with zeros.
  const isLater = Object.keys(before).length > 0;
  if (!counts.some((count) => count > 0 || !isLater)) return undefined;
  const prompt = sent.prompt ?? restOf(total, sent.completion) ?? before.promptTokens;
  const completion = sent.completion ?? restOf(total, prompt) ?? before.completionTokens;
  const known = { promptTokens: prompt, completionTokens: completion, totalTokens: total };
  const more = { ...before.more, ...otherMembers(value, new Set()) };
  if (prompt === undefined || completion === undefined) return { ...defined(known), more };
  const beyond = Math.max(0, (total ?? 0) - prompt - completion);
  const output = completion + beyond;
  const cached = detailIn(value, PROMPT_DETAILS, CACHED);
  const written = detailIn(value, PROMPT_DETAILS, WRITTEN);
  const hour = detailIn(value, ["cache_creation"], ["ephemeral_1h_input_tokens"]);
  const outputDetails = ["completion_tokens_details", "output_tokens_details"];
  const reasoning = detailIn(value, outputDetails, ["reasoning_tokens"]);
  const thought = beyond > 0 ? Math.max(beyond, reasoning ?? 0) : reasoning;
  return {
    promptTokens: prompt,
    completionTokens: output,
    totalTokens: prompt + output,
    ...promptDetails(prompt, cached, written, hour),
    ...(thought !== undefined && { reasoningTokens: Math.min(thought, output) }),
    more,
  };
}

/** The parts of a prompt, together at most all of it. */
function promptDetails(prompt: number, cached?: number, written?: number, hour?: number): ReportedUsage {
  const cachedTokens = cached === undefined ? undefined : Math.min(cached, prompt);
  const cacheWriteTokens = written && Math.min(written, prompt - (cachedTokens ?? 0));
  return defined({
    cachedTokens,
    cacheWriteTokens,
    cacheWriteHourTokens: hour && Math.min(hour, cacheWriteTokens ?? 0),
  });
}

/** Anthropic counts what its cache read and wrote beside `input_tokens`. */
function promptIn(usage: JsonObject): number | undefined {
  const prompt = countIn(usage, PROMPT);
  if (prompt === undefined || countIn(usage, PROMPT.slice(0, 1)) !== undefined) return prompt;
  const beside = ["cache_read_input_tokens", "cache_creation_input_tokens"];
  return beside.reduce((sum, name) => sum + (countOf(usage[name]) ?? 0), prompt);
}

function restOf(total: number | undefined, part: number | undefined): number | undefined {
  return total === undefined || part === undefined || part > total ? undefined : total - part;
}

function countIn(object: JsonObject, names: readonly string[]): number | undefined {
  for (const name of names) {
    const count = countOf(object[name]);
    if (count !== undefined) return count;
  }
  return undefined;
}

/** Returns a count among details, or beside them. */
function detailIn(
  usage: JsonObject,
  parents: readonly string[],
  names: readonly string[],
): number | undefined {
  const places = [...parents.map((parent) => usage[parent]), usage].filter(isJsonObject);
  return places.map((place) => countIn(place, names)).find((count) => count !== undefined);
}

/** A whole number, also as text. */
function countOf(value: JsonValue | undefined): number | undefined {
  const count = typeof value === "string" && /^\d{1,10}$/.test(value) ? Number(value) : value;
  return typeof count === "number" && Number.isInteger(count) && count >= 0 && count <= MAX_TOKENS
    ? count
    : undefined;
}

function defined(usage: { readonly [Name in keyof ReportedUsage]: number | undefined }): ReportedUsage {
  return Object.fromEntries(Object.entries(usage).filter(([, count]) => count !== undefined));
}
