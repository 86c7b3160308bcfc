import { setTimeout as sleep } from "node:timers/promises";
import { ChainView } from "./chain-view.ts";
import type { Chain } from "./engine.ts";
import type { Fault, Faults } from "./faults.ts";
import { isObject, type Json } from "./json.ts";
import { INVALID_REQUEST, METHOD_NOT_FOUND, RpcError, Params } from "./rpc/params.ts";
import { solanaMethods } from "./rpc/index.ts";
import { localMethods } from "./rpc/local.ts";

/** The HTTP server's response instead of, or around, a JSON-RPC response. */
export class TransportFault extends Error {
  readonly fault: Extract<Fault, { kind: "http" | "garbage" | "hang" }>;

  constructor(fault: Extract<Fault, { kind: "http" | "garbage" | "hang" }>) {
    super(fault.kind);
    this.fault = fault;
  }
}

const INTERNAL_ERROR = -32603;

/**
 * Answers one JSON-RPC 2.0 request object.
 *
 * @returns undefined for a notification, which takes no answer
 * @throws TransportFault if the call is to fail below JSON-RPC
 */
export async function answer(chain: Chain, faults: Faults, request: unknown): Promise<Json | undefined> {
  const id = isObject(request) ? idOf(request) : null;
  try {
    if (!isObject(request) || request["jsonrpc"] !== "2.0" || typeof request["method"] !== "string") {
      throw new RpcError(INVALID_REQUEST, "Invalid request");
    }
    const result = await call(chain, faults, request["method"], request["params"]);
    return id === undefined ? undefined : { jsonrpc: "2.0", result, id };
  } catch (error) {
    if (error instanceof TransportFault) throw error;
    return id === undefined ? undefined : { jsonrpc: "2.0", error: errorJson(error), id };
  }
}

/** The `error` member of an answer. */
export function errorJson(error: unknown): Json {
  if (!(error instanceof RpcError)) return { code: INTERNAL_ERROR, message: String(error) };
  return { code: error.code, message: error.message, ...(error.data !== undefined && { data: error.data }) };
}

async function call(chain: Chain, faults: Faults, method: string, params: unknown): Promise<Json> {
  const positional = new Params(Array.isArray(params) ? params : []);
  const control = localMethods(chain, faults)[method];
  if (control !== undefined) return control(positional);
  const fault = faults.strike(method);
  if (fault !== undefined) await strike(fault);
  if (fault?.kind === "result") return fault.result;
  const run = solanaMethods.get(method);
  if (run === undefined) throw new RpcError(METHOD_NOT_FOUND, "Method not found");
  const result = run(new ChainView(chain, fault?.kind === "stale" ? fault.slots : 0), positional);
  return fault?.kind === "null" ? emptied(result) : result;
}

/** Applies a fault that delays or fails the call. */
async function strike(fault: Fault): Promise<void> {
  if (fault.kind === "delay") await sleep(fault.ms);
  if (fault.kind === "http" || fault.kind === "garbage" || fault.kind === "hang")
    throw new TransportFault(fault);
  if (fault.kind === "rpc_error")
    throw new RpcError(fault.code, fault.message ?? "Injected fault", fault.data);
}

/** The response of a node that finds nothing: null, a list of nulls of the same length, or an empty list. */
function emptied(result: Json): Json {
  if (Array.isArray(result)) return [];
  if (typeof result !== "object" || result === null || !("value" in result)) return null;
  const { value } = result;
  return { ...result, value: Array.isArray(value) ? value.map(() => null) : null };
}

/** A request without an id is a notification; an id is a string, a number or null (section 4). */
function idOf(request: Record<string, unknown>): string | number | null | undefined {
  const id = request["id"];
  return typeof id === "string" || typeof id === "number" || id === undefined ? id : null;
}
