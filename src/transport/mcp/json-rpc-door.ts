import { isMessage } from "@bufbuild/protobuf";
import { JsonFieldError } from "#httpjson/runtime/index.ts";
import { CallToolResponseSchema, ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import type { Catalogue } from "../../app/catalogue.ts";
import { ToolgateError } from "../../domain/errors.ts";
import type { Failure } from "../error-details.ts";
import type { HttpAnswer } from "../http/answer.ts";
import type { Pipeline } from "../pipeline.ts";
import type { RequestContext } from "../request-context.ts";
import { initialize } from "./initialize.ts";
import { laidOver } from "./laid-over.ts";
import {
  errorMessage,
  JsonRpcError,
  messageSchema,
  responseSchema,
  resultMessage,
  RPC_ERROR,
  type RequestId,
} from "./message.ts";
import { UnreadableMessageError } from "./unreadable-message.ts";
import { failedToolResult, listTools, toolCallOf, toolResult } from "./tools.ts";

/** MCP over one stateless endpoint: every request stands alone, there are no sessions. */
export class JsonRpcDoor {
  readonly #pipeline: Pipeline;
  readonly #catalogue: Catalogue;

  constructor(pipeline: Pipeline, catalogue: Catalogue) {
    this.#pipeline = pipeline;
    this.#catalogue = catalogue;
  }

  /**
   * Answers one JSON-RPC message of a caller that was let in.
   * @param failed makes the plain HTTP answer of a failure, whose body the JSON-RPC answer is laid over
   * @throws UnreadableMessageError when it is none, and nothing else
   */
  async answer(body: unknown, context: RequestContext, failed: (failure: Failure) => HttpAnswer): Promise<HttpAnswer> {
    if (responseSchema.safeParse(body).success) return { status: 202 };
    const message = messageSchema.safeParse(body);
    if (!message.success)
      throw new UnreadableMessageError(RPC_ERROR.invalidRequest, "body: is not a JSON-RPC 2.0 request");
    const { id, method, params } = message.data;
    if (id === undefined) return { status: 202 };
    try {
      return { status: 200, json: resultMessage(id, await this.#result(method, params, context)) };
    } catch (error) {
      if (error instanceof JsonRpcError) return { status: 200, json: errorMessage(id, error.code, error.message) };
      return this.#failure(id, error, context, failed);
    }
  }

  async #result(method: string, params: Record<string, unknown> | undefined, context: RequestContext): Promise<object> {
    switch (method) {
      case "initialize":
        return initialize(params);
      case "ping":
        return {};
      case "tools/list":
        return listTools(this.#catalogue, params);
      case "tools/call":
        return this.#callTool(params, context);
      default:
        throw new JsonRpcError(RPC_ERROR.methodNotFound, `there is no method ${method.slice(0, 128)}`);
    }
  }

  async #callTool(params: unknown, context: RequestContext): Promise<object> {
    const operation = this.#pipeline.operation(ToolService.method.callTool);
    const answer = await this.#pipeline.answer(operation, toolCallOf(this.#catalogue, params), context);
    if (!isMessage(answer, CallToolResponseSchema))
      throw new TypeError(`tools/call was answered with ${answer.$typeName}`);
    return toolResult(answer);
  }

  #failure(
    id: RequestId,
    thrown: unknown,
    context: RequestContext,
    failed: (failure: Failure) => HttpAnswer,
  ): HttpAnswer {
    if (thrown instanceof JsonFieldError || (thrown instanceof ToolgateError && thrown.code === "INVALID_REQUEST")) {
      return { status: 200, json: resultMessage(id, failedToolResult(thrown.message)) };
    }
    const answer = failed(this.#pipeline.failure(thrown, context.requestId));
    const message = thrown instanceof ToolgateError ? thrown.message : "internal error";
    return laidOver(answer, id, answer.status, message);
  }
}
