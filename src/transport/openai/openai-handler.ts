import type { IncomingMessage, ServerResponse } from "node:http";
import { isMessage, type MessageShape } from "@bufbuild/protobuf";
import { callToolRequestFromJson } from "#gen/toolgate/v1/tool_service_http.ts";
import { CallToolResponseSchema } from "#gen/toolgate/v1/tool_service_pb.ts";
import type { Catalogue } from "../../app/calls/catalogue.ts";
import type { Clock } from "../../domain/core/clock.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { JsonCall, JsonExchange, JsonHandler, JsonRoutes } from "../http/json-routes.ts";
import type { HttpResponse } from "../http/response.ts";
import type { Pipeline } from "../pipeline.ts";
import type { RequestContext } from "../request-context.ts";
import { answerJson, lastChunks } from "./answer.ts";
import { readRequest, type OpenAiRequest } from "./chat-request.ts";
import { ChunkStream } from "./chunk-stream.ts";
import { openAiError, openAiRateHeaders } from "./error-answer.ts";
import { modelById, modelList } from "./models.ts";

const BASE = "/openai/v1/";
const MODELS = `${BASE}models`;
/** The paths that are calls of a tool. */
const TOOLS: ReadonlyMap<string, string> = new Map([[`${BASE}chat/completions`, "inference_chat"]]);

export interface OpenAiHandlerDeps {
  readonly routes: JsonRoutes;
  readonly pipeline: Pipeline;
  readonly catalogue: Pick<Catalogue, "tools">;
  readonly clock: Clock;
}

/** The OpenAI API: chat completions, whole and streamed, and models. */
export class OpenAiHandler implements JsonHandler {
  readonly transport = "openai";
  readonly prefixes = [BASE];
  readonly #deps: OpenAiHandlerDeps;

  constructor(deps: OpenAiHandlerDeps) {
    this.#deps = deps;
  }

  /**
   * Serves one request. Never throws.
   * @param gone aborts when the client disconnects before the response
   */
  handle(request: IncomingMessage, response: ServerResponse, gone: AbortSignal): Promise<void> {
    return this.#deps.routes.handle(request, response, gone, this);
  }

  /** @throws ToolgateError NOT_FOUND */
  contractPath(path: string): string {
    if (TOOLS.has(path)) return "/v1/mcp/tools/call";
    if (path === MODELS || path.startsWith(`${MODELS}/`)) return "/mcp/capabilities";
    const paths = [MODELS, ...TOOLS.keys()].join(", ");
    throw new ToolgateError("NOT_FOUND", `no route matches this path; there are ${paths}`);
  }

  respond(exchange: JsonExchange, call: JsonCall): HttpResponse | Promise<HttpResponse> {
    const { headers, path } = exchange;
    headers.push(...openAiRateHeaders(headers, this.#deps.clock));
    const tool = TOOLS.get(path);
    if (tool !== undefined) return this.#call(exchange, call, tool);
    const models = this.#deps.catalogue.tools.flatMap(({ openai }) => openai?.models ?? []);
    const json = path === MODELS ? modelList(models) : modelById(models, path.slice(MODELS.length + 1));
    return { status: 200, json };
  }

  failed({ headers }: JsonExchange, answer: HttpResponse): HttpResponse {
    headers.push(...openAiRateHeaders(answer.headers ?? [], this.#deps.clock));
    return openAiError(answer);
  }

  async #call(exchange: JsonExchange, call: JsonCall, tool: string): Promise<HttpResponse> {
    const request = readRequest(call.body);
    const context: RequestContext = {
      ...this.#deps.routes.context(exchange, call, "step"),
      form: "openai",
    };
    const run = (more: Partial<RequestContext>) => this.#run(call, request, tool, { ...context, ...more });
    if (!request.stream) return { status: 200, json: answerJson(await run({})) };
    const { response, headers, gone } = exchange;
    const stream = new ChunkStream(response, headers, gone);
    try {
      const answer = await run({ output: stream, onStart: () => stream.start() });
      const chunks = lastChunks(answer, stream.hasChunks, request.usageChunk);
      for (const chunk of chunks.slice(0, -1)) void stream.write(chunk);
      return { status: 200, json: chunks.at(-1), stream };
    } catch (error) {
      if (!stream.isOpen) {
        stream.stop();
        throw error;
      }
      const answer = this.#deps.routes.errorResponse(exchange, error);
      return { ...openAiError(answer), stream };
    }
  }

  async #run(
    { operation }: JsonCall,
    { params }: OpenAiRequest,
    tool: string,
    context: RequestContext,
  ): Promise<MessageShape<typeof CallToolResponseSchema>> {
    const message = callToolRequestFromJson({ tool, params });
    const answer = await this.#deps.pipeline.invoke(operation, message, context);
    if (!isMessage(answer, CallToolResponseSchema))
      throw new TypeError(`a tool call was answered with ${answer.$typeName}`);
    return answer;
  }
}
