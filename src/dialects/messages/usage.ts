import { isJsonObject, type JsonObject, objectOf } from "../../domain/core/json.ts";
import { withoutCharge } from "../broken-off.ts";

/** Returns the usage of a chat completion as Anthropic counts it: cached tokens beside the others. */
export function usageFrom(usage: JsonObject): JsonObject {
  const { prompt_tokens: prompt = 0, completion_tokens: output = 0, estimated } = usage;
  const { cached_tokens: cached = 0, cache_write_tokens: written = 0 } = objectOf(
    usage["prompt_tokens_details"],
  );
  const reasoning = objectOf(usage["completion_tokens_details"])["reasoning_tokens"];
  return {
    input_tokens: Number(prompt) - Number(cached) - Number(written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    output_tokens: output,
    ...(reasoning !== undefined && { output_tokens_details: { thinking_tokens: reasoning } }),
    ...(estimated !== undefined && { estimated }),
  };
}

/** Returns a server's usage; an estimate replaces its counts. @param counted as of a chat completion */
export function usageOfServer(usage: unknown, counted: JsonObject): JsonObject {
  const own = withoutCharge(usage);
  return isJsonObject(usage) && counted["estimated"] !== true ? own : { ...own, ...usageFrom(counted) };
}
