import { isJsonObject, type JsonObject } from "../../domain/core/json.ts";
import { VERSION } from "../../version.ts";
import { JsonRpcError, quoted, RPC_ERROR, type Message } from "./json-rpc.ts";

/** Server information (MCP, Implementation). */
export const SERVER_INFO = { name: "toolgate", version: VERSION };

/** MCP revisions that start with `initialize`, newest first. */
export const LEGACY_REVISIONS: readonly string[] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/** Stateless MCP revisions, newest first. */
export const MODERN_REVISIONS: readonly string[] = ["2026-07-28"];

/** Revision of clients that send none (the header exists since 2025-06-18); the only one with batches. */
export const DEFAULT_REVISION = "2025-03-26";

/** Members of a modern request's `params._meta`. */
const META_VERSION = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

/** Eras of the protocol (Versioning, terminology): legacy starts with `initialize`, modern is stateless. */
export type Era = "legacy" | "modern";

export interface Result {
  readonly [member: string]: unknown;
  readonly _meta?: object;
}

/** Returns the era: modern by `_meta` or the MCP-Protocol-Version header. */
export function eraOf(message: Message | undefined, version: string | undefined): Era {
  if (version !== undefined && MODERN_REVISIONS.includes(version)) return "modern";
  const meta = message?.params?.["_meta"];
  return isJsonObject(meta) && (meta[META_VERSION] ?? undefined) !== undefined ? "modern" : "legacy";
}

/** Checks the revision of a legacy request (Transports). @throws JsonRpcError -32022 with HTTP 400 */
export function requireLegacyRevision(version: string | undefined): void {
  if (version === undefined || LEGACY_REVISIONS.includes(version)) return;
  throw unsupportedVersion(version, [...MODERN_REVISIONS, ...LEGACY_REVISIONS]);
}

/** Checks a modern request's `_meta`. @throws JsonRpcError -32602, -32020 or -32022, with HTTP 400 */
export function requireModernRevision({ params }: Message, header: string | undefined): void {
  const version = versionOf(params);
  if (header !== version) {
    const says = header === undefined ? "is missing" : `says ${quoted(header)}`;
    throw headerMismatch(`MCP-Protocol-Version ${says}, but params._meta says ${quoted(version)}`);
  }
  if (!MODERN_REVISIONS.includes(version)) throw unsupportedVersion(version, MODERN_REVISIONS);
}

function versionOf(params: JsonObject | undefined): string {
  const meta = params?.["_meta"];
  if (!isJsonObject(meta)) throw malformed("params._meta: must be an object");
  const version = meta[META_VERSION];
  if (typeof version !== "string") throw malformed(`params._meta["${META_VERSION}"]: must be a string`);
  if (!isJsonObject(meta[META_CAPABILITIES]))
    throw malformed(`params._meta["${META_CAPABILITIES}"]: must be an object; {} when there are none`);
  return version;
}

/** Whether a modern request announces that its client pays by the scheme `Payment`. */
export function announcesPayment(message: Message): boolean {
  const experimental = capabilitiesOf(message)?.["experimental"];
  return isJsonObject(experimental) && isJsonObject(experimental["payment"]);
}

/** Returns what a modern request says that its client can do. */
export function capabilitiesOf({ params }: Message): JsonObject | undefined {
  const meta = params?.["_meta"];
  const capabilities = isJsonObject(meta) ? meta[META_CAPABILITIES] : undefined;
  return isJsonObject(capabilities) ? capabilities : undefined;
}

function malformed(message: string): JsonRpcError {
  return new JsonRpcError(RPC_ERROR.invalidParams, message, { status: 400 });
}

/** Adds what revision 2026-07-28 requires: result type and server info (Overview, responses and `_meta`). */
export function modernResult(result: Result): object {
  return {
    resultType: "complete",
    ...result,
    _meta: { ...result._meta, "io.modelcontextprotocol/serverInfo": SERVER_INFO },
  };
}

/** Error for a header that differs from the body (-32020 with HTTP 400). */
export function headerMismatch(message: string): JsonRpcError {
  return new JsonRpcError(RPC_ERROR.headerMismatch, `Header mismatch: ${message}`, { status: 400 });
}

function unsupportedVersion(requested: string, supported: readonly string[]): JsonRpcError {
  const message = `Unsupported protocol version: ${quoted(requested)}; supported are ${supported.join(", ")}`;
  return new JsonRpcError(RPC_ERROR.unsupportedVersion, message, {
    status: 400,
    data: { supported, requested },
  });
}
