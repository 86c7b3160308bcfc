import { z } from "zod";

/** Identifier of a JSON-RPC request (JSON-RPC 2.0 section 4; MCP forbids null). */
export type RequestId = string | number;

const idSchema = z.union([z.string().refine((id) => id.isWellFormed()), z.number()]);

/** A request, or without `id` a notification (JSON-RPC 2.0 section 4). */
export const messageSchema = z.object({
  jsonrpc: z.literal("2.0"),
  method: z.string(),
  id: idSchema.optional(),
  params: z.record(z.string(), z.unknown()).optional(),
});

const members = z.record(z.string(), z.unknown());
const response = z.object({ jsonrpc: z.literal("2.0"), id: idSchema.nullish(), method: z.never().optional() });

/** A response that a client sends; a stateless server asked for none (JSON-RPC 2.0 section 5). */
export const responseSchema = z.union([response.extend({ result: members }), response.extend({ error: members })]);

/** JSON-RPC 2.0 section 5.1. */
export const RPC_ERROR = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
} as const;

/** An error that belongs to the protocol rather than to the gateway. */
export class JsonRpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message.toWellFormed());
    this.name = "JsonRpcError";
    this.code = code;
  }
}

/** A successful answer (JSON-RPC 2.0 section 5). */
export function resultMessage(id: RequestId, result: object) {
  return { jsonrpc: "2.0", id, result };
}

/** A failed answer (JSON-RPC 2.0 section 5.1). `id` is null when it could not be told. */
export function errorMessage(id: RequestId | null, code: number, message: string, data?: unknown) {
  return { jsonrpc: "2.0", id, error: data === undefined ? { code, message } : { code, message, data } };
}
