import { isMessage, type Message as ProtoMessage } from "@bufbuild/protobuf";
import { CallToolResponseSchema, ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { OTHER } from "../../app/operations/request-record.ts";
import { type Catalogue, describedForModels } from "../../app/calls/catalogue.ts";
import { allowsTool, type Caller } from "../../domain/accounts/caller.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import { displayUsd } from "../../domain/core/money.ts";
import { SOLANA_CHARGE } from "../../domain/payments/payment-auth.ts";
import type { Tool } from "../../domain/tools/tool.ts";
import type { Operation, Pipeline } from "../pipeline.ts";
import type { CallApprovals } from "./call-approvals.ts";
import { elicitsUrls, newUrlSession } from "./elicitation.ts";
import type { McpExchange } from "./exchange.ts";
import { invalidParams, JsonRpcError, RPC_ERROR, type Message } from "./json-rpc.ts";
import { requireMirroredArguments } from "./mirrored-headers.ts";
import { LEGACY_REVISIONS, MODERN_REVISIONS, SERVER_INFO, type Era, type Result } from "./revision.ts";
import { contextOf, readToolCall } from "./tool-call.ts";
import { toolResult, withSettlement } from "./tool-result.ts";

const EMPTY: Result = {};

/** No change notifications: this server has neither the GET stream nor `subscriptions/listen`. */
const CAPABILITIES = {
  tools: { listChanged: false },
  // draft-payment-transport-mcp, capability advertisement.
  experimental: { payment: { methods: { [SOLANA_CHARGE.method]: { intents: [SOLANA_CHARGE.intent] } } } },
};

/** Instructions for the model, in every era. */
const INSTRUCTIONS =
  "Billable tools are charged in USDC from the account's balance. A call that it does not cover returns a " +
  "quote, as HTTP 402 or as a result with isError. Pay the quote once on Solana by its " +
  "payment_instructions " +
  'and repeat the same call with the proof in the X-Payment header or in _meta["toolgate/payment_proof"]. ' +
  'On a retry reuse the Idempotency-Key header or _meta["toolgate/idempotency_key"] of the first attempt.';

/** Cache lifetime of lists and server information, ms; private because each key sees its own tools. */
const CACHING = { ttlMs: 60_000, cacheScope: "private" };

/** Methods that are counted by name; notifications have no effect. */
const NAMED = new Set(["tools/call", "tools/list", "initialize", "ping", "server/discover"]);

/** Returns the name of a message's method in metrics and logs. */
export function methodName({ id, method }: Message): string {
  if (id === undefined) return "notification";
  return NAMED.has(method) ? method : OTHER;
}

export class Methods {
  readonly #pipeline: Pipeline;
  readonly #catalogue: Catalogue;
  readonly #callTool: Operation;
  readonly #approvals: CallApprovals | undefined;

  /** @param approvals undefined: applications do not sign in */
  constructor(pipeline: Pipeline, catalogue: Catalogue, approvals?: CallApprovals) {
    this.#approvals = approvals;
    this.#pipeline = pipeline;
    this.#catalogue = catalogue;
    this.#callTool = pipeline.operation(ToolService.method.callTool);
  }

  /** Returns a result without the members of its era. @throws JsonRpcError, and what the call throws */
  result(message: Message, era: Era, exchange: McpExchange): Promise<Result> | Result {
    const { method, params } = message;
    switch (method) {
      case "tools/call":
        return this.#call(message, era, exchange);
      case "tools/list": {
        const tools = listTools(this.#catalogue, exchange.context.caller, params);
        return era === "modern" ? { ...tools, ...CACHING } : tools;
      }
      case "initialize":
        if (era === "legacy") return initialize(params, exchange);
        break;
      case "ping":
        if (era === "legacy") return EMPTY;
        break;
      case "server/discover":
        if (era === "modern") return discover();
        break;
    }
    // Modern clients and proxies read the HTTP status (Streamable HTTP, protocol version header).
    const status = era === "modern" ? 404 : 200;
    throw new JsonRpcError(RPC_ERROR.methodNotFound, `unknown method ${method.slice(0, 128)}`, { status });
  }

  #call(message: Message, era: Era, exchange: McpExchange): Result | Promise<Result> {
    const { params } = message;
    const call = readToolCall(this.#catalogue, params);
    if (era === "modern") requireMirroredArguments(call.tool.inputSchema, call.arguments, exchange.headers);
    if (call.trace) this.#pipeline.requests.continueTrace(exchange.record, call.trace);
    const context = contextOf(call, exchange);
    const invoke = () => this.#pipeline.invoke(this.#callTool, call.request, context);
    if (this.#approvals && context.caller?.viaOAuth) {
      const asking = { message, params: call.arguments, era, exchange, pipeline: this.#pipeline };
      return this.#approvals.result(asking, async () => callResult(await invoke(), exchange));
    }
    const answer = invoke();
    return answer instanceof Promise
      ? answer.then((later) => callResult(later, exchange))
      : callResult(answer, exchange);
  }
}

function callResult(answer: ProtoMessage, { settlement }: McpExchange): Result {
  if (!isMessage(answer, CallToolResponseSchema))
    throw new TypeError(`tools/call was answered with ${answer.$typeName}`);
  return withSettlement(toolResult(answer), settlement);
}

/** MCP initialization: returns the requested revision if supported, else the newest. No session. */
function initialize(params: JsonObject | undefined, exchange: McpExchange): Result {
  const asked = params?.["protocolVersion"];
  if (typeof asked !== "string")
    throw invalidParams("params.protocolVersion", "must be a string such as 2025-11-25");
  if (exchange.context.caller?.viaOAuth && elicitsUrls(params?.["capabilities"]))
    exchange.openSession(newUrlSession());
  return {
    protocolVersion: LEGACY_REVISIONS.includes(asked) ? asked : LEGACY_REVISIONS[0],
    capabilities: CAPABILITIES,
    serverInfo: SERVER_INFO,
    instructions: INSTRUCTIONS,
  };
}

/** `server/discover`: lists only the revisions that work without `initialize`. */
function discover(): Result {
  return {
    supportedVersions: MODERN_REVISIONS,
    capabilities: CAPABILITIES,
    instructions: INSTRUCTIONS,
    ...CACHING,
  };
}

/** MCP tools/list: the tools this key may call, in catalogue order, on one page. */
function listTools({ tools }: Catalogue, caller: Caller | undefined, params: JsonObject | undefined): Result {
  // Some clients ask for the first page with an empty one.
  if ((params?.["cursor"] ?? "") !== "")
    throw invalidParams("params.cursor", "there is only one page; omit it");
  return { tools: tools.filter((tool) => isCallable(tool, caller)).map(listed) };
}

function isCallable({ name, status, scope }: Tool, caller: Caller | undefined): boolean {
  if (status !== "active" || (caller && !allowsTool(caller, name))) return false;
  return scope === undefined || caller?.scopes.has(scope) === true;
}

function listed(tool: Tool): object {
  const { name, inputSchema, annotations, billable, fixedPrice, maxPrice, metered } = tool;
  const price = {
    ...(fixedPrice !== undefined && { "toolgate/price": priceJson(fixedPrice) }),
    ...(maxPrice !== undefined && { "toolgate/max_price": priceJson(maxPrice) }),
  };
  return {
    name,
    description: describedForModels(tool),
    inputSchema,
    ...(annotations && { annotations }),
    _meta: { "toolgate/billable": billable, ...price, ...(metered && { "toolgate/metered": true }) },
  };
}

function priceJson(price: bigint): object {
  return { price_usdc_microusd: Number(price), price_display: displayUsd(price) };
}
