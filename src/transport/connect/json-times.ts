import type { DescField, DescMessage } from "@bufbuild/protobuf";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";
import { bytesOf, oneChunk } from "./unreadable-message.ts";

/** Times that ProtoJSON writes with other than three fraction digits. */
const OTHER_DIGITS = /:\d\d(?:\.\d{6,9})?Z"/;

/** Returns a JSON answer with times of three fraction digits, as over HTTP: Connect leaves out zeros. */
export async function withMilliseconds(
  answer: UniversalServerResponse,
  schema: DescMessage,
): Promise<UniversalServerResponse> {
  if (answer.status !== 200 || answer.header?.get("content-type") !== "application/json") return answer;
  const body = await bytesOf(answer.body ?? []);
  const text = body.toString();
  const json: unknown = OTHER_DIGITS.test(text) ? JSON.parse(text) : undefined;
  if (!isJsonObject(json)) return { ...answer, body: oneChunk(body) };
  const bytes = Buffer.from(JSON.stringify(rewritten(schema, json)));
  const header = new Headers(answer.header);
  header.set("content-length", String(bytes.byteLength));
  return { ...answer, header, body: oneChunk(bytes) };
}

function rewritten(schema: DescMessage, json: JsonValue): JsonValue {
  if (schema.typeName === "google.protobuf.Timestamp" && typeof json === "string")
    return json.replace(/(?:\.(\d{3})\d*)?Z$/, (_, digits: string | undefined) => `.${digits ?? "000"}Z`);
  if (!isJsonObject(json)) return json;
  const members = schema.fields.flatMap((field): [string, JsonValue][] => {
    const value = json[field.jsonName];
    return value === undefined || !field.message
      ? []
      : [[field.jsonName, member(field, field.message, value)]];
  });
  return { ...json, ...Object.fromEntries(members) };
}

function member({ fieldKind }: DescField, message: DescMessage, value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((item) => rewritten(message, item));
  return fieldKind === "map" && isJsonObject(value) ? mapped(message, value) : rewritten(message, value);
}

function mapped(message: DescMessage, map: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, rewritten(message, value)]));
}
