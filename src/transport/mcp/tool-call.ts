import type { MessageShape } from "@bufbuild/protobuf";
import { JsonFieldError } from "#httpjson/runtime/index.ts";
import { paymentProofFromJson } from "#gen/toolgate/v1/payment_http.ts";
import type { PaymentProof } from "#gen/toolgate/v1/payment_pb.ts";
import { callToolRequestFromJson } from "#gen/toolgate/v1/tool_service_http.ts";
import type { CallToolRequestSchema } from "#gen/toolgate/v1/tool_service_pb.ts";
import type { Catalogue } from "../../app/calls/catalogue.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";
import type { TraceContext } from "../../domain/core/span.ts";
import type { Tool } from "../../domain/tools/tool.ts";
import { META_CREDENTIAL } from "../../domain/payments/payment-auth.ts";
import type { RequestContext } from "../request-context.ts";
import type { McpExchange, ProgressToken } from "./exchange.ts";
import { invalidParams, JsonRpcError, RPC_ERROR } from "./json-rpc.ts";

export interface ToolCall {
  readonly tool: Tool;
  readonly arguments: JsonObject;
  /** The same call in the contract's form. */
  readonly request: MessageShape<typeof CallToolRequestSchema>;
  /** Undefined when the client requests no progress notifications. */
  readonly progressToken: ProgressToken | undefined;
  /** `_meta["x402/payment"]` (x402 v2, MCP transport), as sent. */
  readonly payment: JsonValue | undefined;
  /** `_meta["org.paymentauth/credential"]`, as sent. */
  readonly credential: JsonValue | undefined;
  /** `_meta` has the caller's trace (MCP, `_meta`, trace context); undefined without one. */
  readonly trace: TraceContext | undefined;
}

const META_PAYMENT = "x402/payment";
const META_PROOF = "toolgate/payment_proof";
const META_KEY = "toolgate/idempotency_key";

/**
 * Parses MCP tools/call with the contract's reader, so that the same limits apply.
 * @throws JsonRpcError for an unknown tool (Tools, error handling) and malformed members around the arguments
 * @throws JsonFieldError for arguments that are nested too deeply or not well-formed Unicode
 */
export function readToolCall(catalogue: Catalogue, params: JsonObject = {}): ToolCall {
  const { name } = params;
  // As in the contract's JSON, null is absent.
  const args = params["arguments"] ?? {};
  const meta = params["_meta"] ?? undefined;
  if (typeof name !== "string") throw invalidParams("params.name", "must be the name of a tool");
  const tool = catalogue.tools.find((one) => one.name === name && one.status === "active");
  if (!tool) throw new JsonRpcError(RPC_ERROR.invalidParams, `Unknown tool: ${name.slice(0, 128)}`);
  if (!isJsonObject(args)) throw invalidParams("params.arguments", "must be an object");
  const request = callToolRequestFromJson({ tool: name, params: args });
  const call = { tool, arguments: args, request };
  if (meta === undefined)
    return { ...call, progressToken: undefined, payment: undefined, credential: undefined, trace: undefined };
  if (!isJsonObject(meta)) throw invalidParams("params._meta", "must be an object");
  const proof = meta[META_PROOF] ?? undefined;
  if (proof !== undefined) request.paymentProof = proofOf(proof);
  const key = meta[META_KEY] ?? undefined;
  if (key !== undefined) request.idempotencyKey = keyOf(key);
  const payment = meta[META_PAYMENT] ?? undefined;
  const credential = meta[META_CREDENTIAL] ?? undefined;
  return { ...call, progressToken: tokenOf(meta), payment, credential, trace: traceOf(meta) };
}

function traceOf({ traceparent, tracestate }: JsonObject): TraceContext | undefined {
  if (typeof traceparent !== "string") return undefined;
  return { traceparent, tracestate: typeof tracestate === "string" ? tracestate : undefined };
}

function tokenOf(meta: JsonObject): ProgressToken | undefined {
  const token = meta["progressToken"] ?? undefined;
  if (token === undefined || typeof token === "string") return token;
  if (typeof token === "number" && Number.isSafeInteger(token)) return token;
  throw invalidParams("params._meta.progressToken", "must be a string or an integer up to 2^53 - 1");
}

/** The contract's payment proof, for clients that cannot set a header per call. */
function proofOf(json: JsonValue): PaymentProof {
  try {
    return paymentProofFromJson(json, `params._meta["${META_PROOF}"]`);
  } catch (error) {
    if (error instanceof JsonFieldError) throw new JsonRpcError(RPC_ERROR.invalidParams, error.message);
    throw error;
  }
}

function keyOf(json: JsonValue): string {
  if (typeof json === "string") return json;
  throw invalidParams(`params._meta["${META_KEY}"]`, "must be a string");
}

export function contextOf(call: ToolCall, exchange: McpExchange): RequestContext {
  const { progressToken, payment, credential } = call;
  const { context, record } = exchange;
  const sent = [payment, credential, context.xPayment, context.paymentSignature, context.credential];
  const plain = [progressToken, ...sent].every((value) => value === undefined);
  if (plain && context.record === record) return context;
  return {
    ...context,
    record,
    metaPayment: payment,
    metaCredential: credential,
    progress: progressToken === undefined ? undefined : exchange.progressListener(progressToken),
    onSettlement: (report) => exchange.settled(report),
  };
}
