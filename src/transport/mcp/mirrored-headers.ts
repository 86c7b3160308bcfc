import type { IncomingHttpHeaders } from "node:http";
import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/json.ts";
import type { Message } from "./message.ts";
import { headerMismatch } from "./revision.ts";
import { quoted } from "./rpc-error.ts";

// Headers that repeat what the body says, for proxies that do not read bodies (Streamable HTTP, request metadata). Nothing is ever
// decided by them: they are compared with the body, and what differs is refused.

/** A value that a header cannot hold as it is (Value Encoding). */
const SENTINEL = /^=\?base64\?(.*)\?=$/s;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** What a header may hold, as Node hands it on: bytes as Latin-1. */
const PLAIN = /^[\t\x20-\x7e]*$/;

/**
 * Compares Mcp-Method and, of a tool call, Mcp-Name with the body.
 * @throws JsonRpcError -32020 with HTTP 400
 */
export function requireMirroredHeaders({ method, params }: Message, headers: IncomingHttpHeaders): void {
  requireEqual("Mcp-Method", one(headers["mcp-method"]), method);
  if (method !== "tools/call") return;
  const name = params?.["name"];
  if (typeof name === "string") requireEqual("Mcp-Name", decoded("Mcp-Name", one(headers["mcp-name"])), name);
}

/**
 * Compares the Mcp-Param-* headers that a tool's schema asks for with the arguments.
 * @throws JsonRpcError -32020 with HTTP 400
 */
export function requireMirroredArguments(
  schema: JsonObject,
  args: JsonValue,
  headers: IncomingHttpHeaders,
): void {
  for (const { header, path } of mirroredBy(schema)) {
    const name = `Mcp-Param-${header}`;
    const sent = decoded(name, one(headers[name.toLowerCase()]));
    const value = valueAt(args, path);
    // What is not in the body must not be in a header either: a proxy would believe it.
    if (value === undefined || value === null) {
      if (sent !== undefined)
        throw headerMismatch(`${name} says ${quoted(sent)}, and the arguments have no such value`);
    } else if (sent === undefined || !matches(sent, value)) {
      requireEqual(name, sent, typeof value === "string" ? value : JSON.stringify(value));
    }
  }
}

/** A property of a tool's parameters that is mirrored. */
interface Mirrored {
  /** The name behind `Mcp-Param-`. */
  readonly header: string;
  readonly path: readonly string[];
}

/** What was found in a schema before; schemas are read once, and never change. */
const found = new WeakMap<JsonObject, readonly Mirrored[]>();

function mirroredBy(schema: JsonObject): readonly Mirrored[] {
  const known = found.get(schema);
  if (known) return known;
  const all = [...walk(schema, [])];
  found.set(schema, all);
  return all;
}

/** Annotations count only where a chain of `properties` leads to them (Schema Extension). */
function* walk({ properties }: JsonObject, path: readonly string[]): Generator<Mirrored> {
  if (!isJsonObject(properties)) return;
  for (const [name, property] of Object.entries(properties)) {
    if (!isJsonObject(property)) continue;
    const header = property["x-mcp-header"];
    if (typeof header === "string" && header !== "") yield { header, path: [...path, name] };
    yield* walk(property, [...path, name]);
  }
}

function valueAt(args: JsonValue, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = args;
  for (const name of path)
    value = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}

/** Integers are compared as numbers: 42.0 is 42. */
function matches(sent: string, value: JsonValue): boolean {
  if (typeof value === "number") return sent.trim() !== "" && Number(sent) === value;
  return sent === (typeof value === "string" ? value : JSON.stringify(value));
}

function requireEqual(name: string, sent: string | undefined, value: string): void {
  if (sent === value) return;
  const header = sent === undefined ? "is missing" : `says ${quoted(sent)}`;
  throw headerMismatch(`${name} ${header}, and the body says ${quoted(value)}`);
}

function decoded(name: string, sent: string | undefined): string | undefined {
  if (sent === undefined) return undefined;
  if (!PLAIN.test(sent))
    throw headerMismatch(`${name} has characters that no header can hold; encode it as =?base64?…?=`);
  const encoded = sent.startsWith("=?") ? SENTINEL.exec(sent)?.[1] : undefined;
  if (encoded === undefined) return sent;
  if (!BASE64.test(encoded)) throw headerMismatch(`${name} is not base64 between =?base64? and ?=`);
  return Buffer.from(encoded, "base64").toString("utf8");
}

function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(", ") : value;
}
