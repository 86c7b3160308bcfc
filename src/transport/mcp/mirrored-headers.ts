import type { IncomingHttpHeaders } from "node:http";
import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";
import { joined } from "../http/request-head.ts";
import { quoted, type Message } from "./json-rpc.ts";
import { headerMismatch } from "./revision.ts";

// Headers that repeat parts of the body for proxies (Streamable HTTP, request metadata). They decide nothing:
// a header that differs from the body is an error.

/** A value that a header cannot hold directly (Value Encoding). */
const SENTINEL = /^=\?base64\?(.*)\?=$/s;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** Characters a header may contain; Node decodes header bytes as Latin-1. */
const PLAIN = /^[\t\x20-\x7e]*$/;

/** Compares Mcp-Method and Mcp-Name with the body. @throws JsonRpcError -32020 with HTTP 400 */
export function requireMirroredHeaders({ method, params }: Message, headers: IncomingHttpHeaders): void {
  requireEqual("Mcp-Method", joined(headers["mcp-method"]), method);
  if (method !== "tools/call") return;
  const name = params?.["name"];
  if (typeof name === "string")
    requireEqual("Mcp-Name", decoded("Mcp-Name", joined(headers["mcp-name"])), name);
}

/** Compares Mcp-Param-* headers with the arguments. @throws JsonRpcError -32020 with HTTP 400 */
export function requireMirroredArguments(
  schema: JsonObject,
  args: JsonValue,
  headers: IncomingHttpHeaders,
): void {
  for (const { header, path } of mirroredBy(schema)) {
    const name = `Mcp-Param-${header}`;
    const sent = decoded(name, joined(headers[name.toLowerCase()]));
    const value = valueAt(args, path);
    // A header without a value in the body would mislead proxies.
    if (value === undefined || value === null) {
      if (sent !== undefined)
        throw headerMismatch(`${name} says ${quoted(sent)}, but the arguments have no such value`);
    } else if (sent === undefined || !matches(sent, value)) {
      requireEqual(name, sent, typeof value === "string" ? value : JSON.stringify(value));
    }
  }
}

interface Mirrored {
  /** Name after `Mcp-Param-`. */
  readonly header: string;
  readonly path: readonly string[];
}

/** Caches the mirrored arguments of each schema; schemas never change. */
const found = new WeakMap<JsonObject, readonly Mirrored[]>();

function mirroredBy(schema: JsonObject): readonly Mirrored[] {
  const known = found.get(schema);
  if (known) return known;
  const all = [...walk(schema, [])];
  found.set(schema, all);
  return all;
}

/** Annotations count only along a chain of `properties` (Schema Extension). */
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

/** Compares integers as numbers: 42.0 equals 42. */
function matches(sent: string, value: JsonValue): boolean {
  if (typeof value === "number") return sent.trim() !== "" && Number(sent) === value;
  return sent === (typeof value === "string" ? value : JSON.stringify(value));
}

function requireEqual(name: string, sent: string | undefined, value: string): void {
  if (sent === value) return;
  const header = sent === undefined ? "is missing" : `says ${quoted(sent)}`;
  throw headerMismatch(`${name} ${header}, but the body says ${quoted(value)}`);
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
