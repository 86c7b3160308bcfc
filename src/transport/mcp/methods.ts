import { isMessage } from "@bufbuild/protobuf";
import { CallToolResponseSchema, ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import type { Catalogue } from "../../app/calls/catalogue.ts";
import type { Operation, Pipeline } from "../pipeline.ts";
import type { RequestContext } from "../request-context.ts";
import type { McpExchange } from "./exchange.ts";
import { initialize } from "./initialize.ts";
import { listTools } from "./list-tools.ts";
import type { Message } from "./message.ts";
import { requireMirroredArguments } from "./mirrored-headers.ts";
import { discover, type Result } from "./modern-result.ts";
import { ProgressReports } from "./progress-reports.ts";
import type { Era } from "./revision.ts";
import { withSettlement } from "./payment-in-band.ts";
import { JsonRpcError, RPC_ERROR } from "./rpc-error.ts";
import { CACHING } from "./server-info.ts";
import { readToolCall, type ToolCall } from "./tool-call.ts";
import { toolResult } from "./tool-result.ts";

const EMPTY: Result = {};

/** The MCP methods of a server with tools. */
export class Methods {
  readonly #pipeline: Pipeline;
  readonly #catalogue: Catalogue;
  readonly #callTool: Operation;

  constructor(pipeline: Pipeline, catalogue: Catalogue) {
    this.#pipeline = pipeline;
    this.#catalogue = catalogue;
    this.#callTool = pipeline.operation(ToolService.method.callTool);
  }

  /**
   * Returns the result of a request, without the members its era adds.
   * @throws JsonRpcError, and whatever the tool call throws
   */
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
        if (era === "legacy") return initialize(params);
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
    throw new JsonRpcError(RPC_ERROR.methodNotFound, `unknown method ${method.slice(0, 128)}`, {
      status,
    });
  }

  async #call({ params }: Message, era: Era, exchange: McpExchange): Promise<Result> {
    const call = readToolCall(this.#catalogue, params);
    if (era === "modern") requireMirroredArguments(call.tool.inputSchema, call.arguments, exchange.headers);
    const answer = await this.#pipeline.invoke(this.#callTool, call.request, contextOf(call, exchange));
    if (!isMessage(answer, CallToolResponseSchema))
      throw new TypeError(`tools/call was answered with ${answer.$typeName}`);
    return withSettlement(toolResult(answer), exchange.settlement);
  }
}

/** Adds what the call's `_meta` says to the context of the request. */
function contextOf({ progressToken, payment }: ToolCall, exchange: McpExchange): RequestContext {
  const { context, acceptsEvents } = exchange;
  const { xPayment, paymentSignature } = context;
  if (
    progressToken === undefined &&
    payment === undefined &&
    xPayment === undefined &&
    paymentSignature === undefined
  )
    return context;
  const reports =
    progressToken !== undefined && acceptsEvents && new ProgressReports(progressToken, exchange);
  return {
    ...context,
    metaPayment: payment,
    progress: reports ? reports.listener : undefined,
    onSettlement: (report) => exchange.settled(report),
  };
}
