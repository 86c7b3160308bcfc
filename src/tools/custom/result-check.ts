import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/json.ts";

/** Bytes that a result may have as google.protobuf.Struct: with what the gateway adds it stays below the 4 MiB that clients of gRPC read. */
export const MAX_RESULT_BYTES = 4 * 1024 * 1024 - 64 * 1024;

/** Levels that a result may nest: three messages of protobuf each, of which readers take 100. */
export const MAX_RESULT_DEPTH = 32;

/**
 * What keeps what a server says of an operation from being listed, in words for the operator; undefined: nothing. Everybody may read it, and
 * one part that a door cannot send would keep all the others from being listed.
 */
export function descriptionProblem(described: JsonObject, secrets: readonly string[]): string | undefined {
  if (holdsSecret(JSON.stringify(described), secrets))
    return "its description repeats a value of headers_env";
  if (sizeOf(described, MAX_RESULT_DEPTH) === undefined)
    return `the schema of its parameters nests deeper than ${MAX_RESULT_DEPTH} levels, or holds text or numbers that JSON cannot carry`;
  return undefined;
}

/** Whether a text holds a secret, as it is, as JSON and addresses write it, or in Base64. */
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

/** Bytes of a value as google.protobuf.Value; undefined: it nests too deeply, or holds what JSON or UTF-8 has no form for. */
export function sizeOf(value: JsonValue, levels: number): number | undefined {
  if (typeof value === "string")
    return value.isWellFormed() ? delimited(Buffer.byteLength(value)) : undefined;
  if (typeof value === "number") return Number.isFinite(value) ? 9 : undefined;
  if (typeof value !== "object" || value === null) return 2;
  if (levels === 0) return undefined;
  let size = 0;
  const members: readonly (readonly [name: string | undefined, member: JsonValue])[] = isJsonObject(value)
    ? Object.entries(value)
    : value.map((item) => [undefined, item]);
  for (const [name, member] of members) {
    const inner = sizeOf(member, levels - 1);
    if (inner === undefined || name?.isWellFormed() === false) return undefined;
    size +=
      name === undefined
        ? delimited(inner)
        : delimited(delimited(Buffer.byteLength(name)) + delimited(inner));
  }
  return delimited(size);
}

/** A field of protobuf with its tag and its length (varint) before it. */
function delimited(bytes: number): number {
  return 1 + Math.max(1, Math.ceil(Math.log2(bytes + 1) / 7)) + bytes;
}
