import type { IncomingMessage, ServerResponse } from "node:http";
import { isMessage, type MessageShape } from "@bufbuild/protobuf";
import { callToolRequestFromJson } from "#gen/toolgate/v1/tool_service_http.ts";
import { CallToolResponseSchema } from "#gen/toolgate/v1/tool_service_pb.ts";
import type { Catalogue } from "../../app/calls/catalogue.ts";
import type { Clock } from "../../domain/core/clock.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import type { JsonCall, JsonExchange, JsonHandler, JsonRoutes } from "../http/json-routes.ts";
import type { HttpResponse } from "../http/response.ts";
import type { Pipeline } from "../pipeline.ts";
import type { RequestContext } from "../request-context.ts";
import { answerJson, lastChunks } from "./answer.ts";
import { readBodyObject, readChatRequest } from "./chat-request.ts";
import { ChunkStream } from "./chunk-stream.ts";
import { readEmbeddingsRequest, withEncoding } from "./embeddings.ts";
import { openAiError, openAiRateHeaders } from "./error-answer.ts";
import { modelById, modelList } from "./models.ts";

const BASE = "/openai/v1/";
const MODELS = `${BASE}models`;
const CHAT = `${BASE}chat/completions`;
const EMBEDDINGS = `${BASE}embeddings`;

export interface OpenAiHandlerDeps {
  readonly routes: JsonRoutes;
  readonly pipeline: Pipeline;
  readonly catalogue: Pick<Catalogue, "tools">;
  readonly clock: Clock;
}

/** The OpenAI API: chat completions, whole and streamed, embeddings and models. */
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
    if (path === CHAT || path === EMBEDDINGS) return "/v1/mcp/tools/call";
    if (path === MODELS || path.startsWith(`${MODELS}/`)) return "/mcp/capabilities";
    const paths = [MODELS, CHAT, EMBEDDINGS].join(", ");
    throw new ToolgateError("NOT_FOUND", `no route matches this path; there are ${paths}`);
  }

  respond(exchange: JsonExchange, call: JsonCall): HttpResponse | Promise<HttpResponse> {
    const { headers, path } = exchange;
    headers.push(...openAiRateHeaders(headers, this.#deps.clock));
    if (path === CHAT) return this.#chat(exchange, call);
    if (path === EMBEDDINGS) return this.#embed(exchange, call);
    const forms = this.#deps.catalogue.tools.flatMap(({ openai }) => openai ?? []);
    const aliases = forms.flatMap((form) => form.aliases ?? []);
    const models = forms.flatMap((form) => form.models);
    const listed = { models, aliases };
    const json = path === MODELS ? modelList(listed) : modelById(listed, path.slice(MODELS.length + 1));
    return { status: 200, json };
  }

  failed({ headers }: JsonExchange, answer: HttpResponse): HttpResponse {
    headers.push(...openAiRateHeaders(answer.headers ?? [], this.#deps.clock));
    return openAiError(answer);
  }

  async #embed(exchange: JsonExchange, call: JsonCall): Promise<HttpResponse> {
    const { params, format } = readEmbeddingsRequest(readBodyObject(call.body));
    const answer = await this.#run(exchange, call, { tool: "inference_embed", params });
    return {
      status: 200,
      json: answerJson({ ...answer, result: withEncoding(answer.result ?? {}, format) }),
    };
  }

  async #chat(exchange: JsonExchange, call: JsonCall): Promise<HttpResponse> {
    const request = readChatRequest(readBodyObject(call.body));
    const { params } = request;
    const run = (more: Partial<RequestContext>) =>
      this.#run(exchange, call, { tool: "inference_chat", params }, more);
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
    exchange: JsonExchange,
    call: JsonCall,
    toolCall: { readonly tool: string; readonly params: JsonObject },
    more: Partial<RequestContext> = {},
  ): Promise<MessageShape<typeof CallToolResponseSchema>> {
    const { routes, pipeline } = this.#deps;
    const context = { ...routes.context(exchange, call, "step"), form: "openai" as const, ...more };
    const answer = await pipeline.invoke(call.operation, callToolRequestFromJson(toolCall), context);
    if (!isMessage(answer, CallToolResponseSchema))
      throw new TypeError(`a tool call was answered with ${answer.$typeName}`);
    return answer;
  }
}
