import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { encodeEnvelope, type UniversalServerResponse } from "@connectrpc/connect/protocol";
import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";
import { ENVELOPE_BYTES } from "./plain-message.ts";
import { bytesOf, oneChunk } from "./unreadable-message.ts";

/** Times that ProtoJSON writes with other than three fraction digits. */
const OTHER_DIGITS = /:\d\d(?:\.\d{6,9})?Z"/;

/** Returns a JSON answer with times of three fraction digits, as over HTTP: Connect leaves out zeros. */
export async function withMilliseconds(
  answer: UniversalServerResponse,
  schema: DescMessage,
): Promise<UniversalServerResponse> {
  const type = answer.header?.get("content-type");
  const isWeb = type === "application/grpc-web+json";
  if (answer.status !== 200 || (type !== "application/json" && !isWeb)) return answer;
  const body = await bytesOf(answer.body ?? []);
  const bytes = isWeb ? webBody(body, schema) : plainBody(body, schema);
  if (bytes.equals(body)) return { ...answer, body: oneChunk(body) };
  const header = new Headers(answer.header);
  header.set("content-length", String(bytes.byteLength));
  return { ...answer, header, body: oneChunk(bytes) };
}

/** The first envelope has the message, unless the call failed; the trailers follow. */
function webBody(body: Buffer, schema: DescMessage): Buffer {
  if (body[0] !== 0) return body;
  const end = ENVELOPE_BYTES + body.readUInt32BE(1);
  const message = plainBody(body.subarray(ENVELOPE_BYTES, end), schema);
  return Buffer.concat([encodeEnvelope(0, message), body.subarray(end)]);
}

function plainBody(body: Buffer, schema: DescMessage): Buffer {
  const text = body.toString();
  const json: unknown = OTHER_DIGITS.test(text) ? JSON.parse(text) : undefined;
  return isJsonObject(json) ? Buffer.from(JSON.stringify(rewritten(schema, json))) : body;
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
