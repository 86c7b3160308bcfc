import type { JsonObject, JsonValue } from "../../domain/core/json.ts";

/** Bytes as google.protobuf.Struct: with the gateway's fields below the 4 MiB of gRPC clients. */
export const MAX_RESULT_BYTES = 4 * 1024 * 1024 - 64 * 1024;

/** Each level is three protobuf messages; parsers accept 100. */
export const MAX_RESULT_DEPTH = 32;

/** Returns why a description cannot be listed: one that cannot be encoded would break the whole list. */
export function descriptionProblem(described: JsonObject, secrets: readonly string[]): string | undefined {
  if (holdsSecret(JSON.stringify(described), secrets))
    return "its description repeats a value of headers_env";
  if (sizeOf(described, MAX_RESULT_DEPTH) === undefined)
    return (
      `the schema of its parameters nests deeper than ${MAX_RESULT_DEPTH} levels, or holds text or ` +
      "numbers that JSON cannot carry"
    );
  return undefined;
}

/** Whether a text contains a secret, as it is or as encoded by JSON, URLs or Base64. */
export function holdsSecret(text: string, secrets: readonly string[]): boolean {
  return secrets.some((secret) =>
    [
      secret,
      JSON.stringify(secret).slice(1, -1),
      encodeURIComponent(secret),
      Buffer.from(secret).toString("base64"),
    ].some((form) => text.includes(form)),
  );
}

/** Bytes as google.protobuf.Value; undefined if it nests too deeply or is not valid JSON or UTF-8. */
export function sizeOf(value: JsonValue, levels: number): number | undefined {
  if (typeof value === "string")
    return value.isWellFormed() ? delimited(Buffer.byteLength(value)) : undefined;
  if (typeof value === "number") return Number.isFinite(value) ? 9 : undefined;
  if (typeof value !== "object" || value === null) return 2;
  if (levels === 0) return undefined;
  let size = 0;
  if (Array.isArray(value)) {
    for (const item of value) {
      const inner = sizeOf(item, levels - 1);
      if (inner === undefined) return undefined;
      size += delimited(inner);
    }
    return delimited(size);
  }
  // Without a list of the members: the parameters of unpaid calls are measured.
  for (const name in value) {
    const inner = sizeOf(value[name] ?? null, levels - 1);
    if (inner === undefined || !name.isWellFormed()) return undefined;
    size += delimited(delimited(Buffer.byteLength(name)) + delimited(inner));
  }
  return delimited(size);
}

/** A length-delimited protobuf field with its tag. */
function delimited(bytes: number): number {
  let size = bytes + 2;
  for (let rest = bytes; rest > 127; rest = Math.floor(rest / 128)) size++;
  return size;
}
