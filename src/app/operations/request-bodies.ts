import { isJsonObject, type JsonObject } from "../../domain/core/json.ts";

/** Largest params and largest result that are stored, characters of JSON. */
export const MAX_BODY = 16_384;

/** What a request carried. */
interface RequestParts {
  readonly params: JsonObject | undefined;
  readonly result: JsonObject | undefined;
  /** Of the error. */
  readonly message: string | undefined;
}

/** What is stored of it. */
export interface RequestBody extends RequestParts {
  /** Parts that were too large. */
  readonly omitted: readonly string[];
}

/** Returns the parts as JSON, without those that are too large; undefined when there is nothing to store. */
export function bodyText({ params, result, message }: RequestParts): string | undefined {
  if (params === undefined && result === undefined && message === undefined) return undefined;
  const omitted = Object.entries({ params, result }).flatMap(([name, part]) =>
    isWithin(part, MAX_BODY) ? [] : [name],
  );
  const keep = (name: string, part: JsonObject | undefined) => (omitted.includes(name) ? undefined : part);
  const body: RequestBody = {
    params: keep("params", params),
    result: keep("result", result),
    message: message?.slice(0, MAX_BODY),
    omitted,
  };
  return JSON.stringify(body);
}

/** Reads what {@link bodyText} returned. @param text undefined: it cannot be read any more */
export function bodyOf(text: string | undefined): RequestBody {
  const parsed: unknown = JSON.parse(text ?? "{}");
  const { params, result, message, omitted } = isJsonObject(parsed) ? parsed : {};
  return {
    params: isJsonObject(params) ? params : undefined,
    result: isJsonObject(result) ? result : undefined,
    message: typeof message === "string" ? message : undefined,
    omitted: Array.isArray(omitted) ? omitted.map(String) : [],
  };
}

/** Whether the JSON of a value is about as short as the limit. Reads no more of it than the limit. */
function isWithin(value: unknown, limit: number): boolean {
  let left = limit;
  const read = (part: unknown): void => {
    left -= typeof part === "string" ? part.length + 2 : 4;
    if (left < 0 || typeof part !== "object" || part === null) return;
    for (const [name, member] of Object.entries(part)) {
      left -= name.length + 3;
      if (left < 0) return;
      read(member);
    }
  };
  read(value);
  return left >= 0;
}
