import type { IncomingMessage, ServerResponse } from "node:http";
import { isMessage, type MessageShape } from "@bufbuild/protobuf";
import { callToolRequestFromJson } from "#gen/toolgate/v1/tool_service_http.ts";
import { CallToolResponseSchema } from "#gen/toolgate/v1/tool_service_pb.ts";
import type { Catalogue } from "../../app/calls/catalogue.ts";
import type { Clock } from "../../domain/core/clock.ts";
import { ToolgateError, invalidField } from "../../domain/core/errors.ts";
import { type JsonObject, isJsonObject, type JsonValue } from "../../domain/core/json.ts";
import type { JsonCall, JsonExchange, JsonHandler, JsonRoutes } from "../http/json-routes.ts";
import type { HttpResponse } from "../http/response.ts";
import type { Pipeline } from "../pipeline.ts";
import type { RequestContext } from "../request-context.ts";
import { answerJson, lastChunks, openAiError, openAiRateHeaders } from "./answer.ts";
import { ChunkStream } from "./chunk-stream.ts";
import { modelById, modelList } from "./models.ts";
import { parseBody } from "#httpjson/runtime/index.ts";

const BASE = "/openai/v1/";
const MODELS = `${BASE}models`;
const CHAT = `${BASE}chat/completions`;
const EMBEDDINGS = `${BASE}embeddings`;
const [COMPLETE, EMBED] = ["inference_chat", "inference_embed"];

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

  /** Serves one request. Never throws. @param gone aborts when the client disconnects before the response */
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
    const { params, format } = readEmbeddingsRequest(this.#bodyOf(call, EMBED));
    const answer = await this.#run(exchange, call, { tool: EMBED, params });
    return {
      status: 200,
      json: answerJson({ ...answer, result: withEncoding(answer.result ?? {}, format) }),
    };
  }

  async #chat(exchange: JsonExchange, call: JsonCall): Promise<HttpResponse> {
    const request = readChatRequest(this.#bodyOf(call, COMPLETE));
    const { params } = request;
    const run = (more: Partial<RequestContext>) =>
      this.#run(exchange, call, { tool: COMPLETE, params }, more);
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

  /** @throws ToolgateError PAYLOAD_TOO_LARGE, INVALID_REQUEST; JsonFieldError for what is not JSON */
  #bodyOf({ body: bytes }: JsonCall, tool: string): JsonObject {
    this.#deps.pipeline.sizes.requireJson(bytes, tool);
    const body = parseBody(bytes);
    if (!isObject(body)) throw new ToolgateError("INVALID_REQUEST", "body: must be a JSON object");
    return body;
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

/** A request without what concerns only the form of the answer: a repeat may ask for another. */
interface EmbeddingsRequest {
  readonly params: JsonObject;
  readonly format: "float" | "base64";
}

/** OpenAI API, "Create embeddings". @throws ToolgateError INVALID_REQUEST */
function readEmbeddingsRequest(body: JsonObject): EmbeddingsRequest {
  const { encoding_format: format = null, ...params } = body;
  if (format !== null && format !== "float" && format !== "base64")
    throw invalidField("encoding_format", "must be float or base64");
  return { params, format: format ?? "float" };
}

/** Returns an answer whose vectors are base64 in the form that was asked for. */
function withEncoding(answer: JsonObject, format: EmbeddingsRequest["format"]): JsonObject {
  const { data } = answer;
  if (format === "base64" || !Array.isArray(data)) return answer;
  return { ...answer, data: data.map(withNumbers) };
}

function withNumbers(item: JsonValue): JsonValue {
  if (!isJsonObject(item) || typeof item["embedding"] !== "string") return item;
  const bytes = Buffer.from(item["embedding"], "base64");
  const embedding = Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4));
  return { ...item, embedding };
}

/** OpenAI API, "Create chat completion". */
interface ChatCompletionRequest {
  /** The body without what concerns only the form of the answer: a repeat may ask for another. */
  readonly params: JsonObject;
  readonly stream: boolean;
  /** Whether the token counts are a chunk of their own. */
  readonly usageChunk: boolean;
}

/** @throws ToolgateError INVALID_REQUEST */
function readChatRequest(body: JsonObject): ChatCompletionRequest {
  const { stream = null, stream_options: options = null, ...params } = body;
  if (stream !== null && typeof stream !== "boolean") throw invalidField("stream", "must be true or false");
  if (options === null) return { params, stream: stream ?? false, usageChunk: false };
  if (!stream) throw invalidField("stream_options", "is for streams; set stream to true, or leave it out");
  return { params, stream, usageChunk: includesUsage(options) };
}

/** OpenAI API, "Create chat completion", `stream_options`. Others concern other servers' streams. */
function includesUsage(options: JsonValue): boolean {
  if (!isJsonObject(options)) throw invalidField("stream_options", "must be an object");
  const { include_usage: usage = null } = options;
  if (usage !== null && typeof usage !== "boolean")
    throw invalidField("stream_options.include_usage", "must be true or false");
  return usage ?? false;
}

/** What JSON.parse returned. */
function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
