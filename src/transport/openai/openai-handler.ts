import type { IncomingMessage, ServerResponse } from "node:http";
import { isMessage, type MessageShape } from "@bufbuild/protobuf";
import { callToolRequestFromJson } from "#gen/toolgate/v1/tool_service_http.ts";
import { CallToolResponseSchema } from "#gen/toolgate/v1/tool_service_pb.ts";
import type { Catalogue } from "../../app/calls/catalogue.ts";
import type { Clock } from "../../domain/core/clock.ts";
import { ToolgateError, invalidField } from "../../domain/core/errors.ts";
import type { AttachedTexts, ChatModel } from "../../domain/tools/chat.ts";
import { type JsonObject, isJsonObject, type JsonValue } from "../../domain/core/json.ts";
import type { HttpHandler } from "../http/dispatch.ts";
import type { HttpExchange } from "../http/exchange.ts";
import type { FoundRoute, JsonRoutes } from "../http/json-routes.ts";
import { requireHost } from "../http/request-head.ts";
import type { HttpResponse } from "../http/response.ts";
import type { Operation, Pipeline } from "../pipeline.ts";
import type { RequestContext } from "../request-context.ts";
import { answerJson, lastChunks, openAiError, openAiRateHeaders } from "./answer.ts";
import { cutImages, requireImages } from "./cut-images.ts";
import { ChunkStream } from "./chunk-stream.ts";
import { modelById, modelList } from "./models.ts";
import { parseBody } from "#httpjson/runtime/index.ts";

const BASE = "/openai/v1/";
const MODELS = `${BASE}models`;
const CHAT = `${BASE}chat/completions`;
const EMBEDDINGS = `${BASE}embeddings`;
/** Bytes of which another thread computes the digest in a millisecond, at least. */
const DIGESTED_PER_MS = 400_000;
const [COMPLETE, EMBED] = ["inference_chat", "inference_embed"];

export interface OpenAiHandlerDeps {
  readonly routes: JsonRoutes;
  readonly pipeline: Pipeline;
  readonly catalogue: Pick<Catalogue, "tools">;
  readonly clock: Clock;
}

/** The OpenAI API: chat completions, whole and streamed, embeddings and models. */
export class OpenAiHandler implements HttpHandler {
  readonly #deps: OpenAiHandlerDeps;

  constructor(deps: OpenAiHandlerDeps) {
    this.#deps = deps;
  }

  handle(request: IncomingMessage, response: ServerResponse, gone: AbortSignal): boolean {
    if (request.url?.startsWith(BASE) !== true) return false;
    void this.#serve(this.#deps.routes.open("openai", request, response, gone));
    return true;
  }

  async #serve(exchange: HttpExchange): Promise<void> {
    const { routes, pipeline, clock } = this.#deps;
    const { path, headers, record } = exchange;
    try {
      requireHost(exchange.request);
      const found = routes.find(exchange, contractPath(path), this.#bodyLimit(path));
      const arriving = routes.read(exchange, found, await routes.authenticate(exchange, found));
      const body = arriving instanceof Promise ? await arriving : arriving;
      const answer = pipeline.time.measure(record, () => this.#answer(exchange, found, body));
      routes.send(exchange, answer instanceof Promise ? await answer : answer);
    } catch (error) {
      const answer = routes.errorResponse(exchange, error);
      headers.push(...openAiRateHeaders(answer.headers ?? [], clock));
      routes.send(exchange, openAiError(answer));
    }
  }

  /** @returns the largest body of all models that take images */
  #bodyLimit(path: string): number | undefined {
    if (path !== CHAT) return undefined;
    const limits = this.#chatModels().flatMap(({ maxBodyBytes }) => maxBodyBytes ?? []);
    return limits.length === 0 ? undefined : Math.max(...limits);
  }

  #chatModels(): readonly ChatModel[] {
    return this.#deps.catalogue.tools.find(({ name }) => name === COMPLETE)?.openai?.models ?? [];
  }

  #answer(
    exchange: HttpExchange,
    { operation }: FoundRoute,
    body: Buffer,
  ): HttpResponse | Promise<HttpResponse> {
    const { headers, path } = exchange;
    headers.push(...openAiRateHeaders(headers, this.#deps.clock));
    if (path === CHAT) return this.#chat(exchange, operation, body);
    if (path === EMBEDDINGS) return this.#embed(exchange, operation, body);
    const forms = this.#deps.catalogue.tools.flatMap(({ openai }) => openai ?? []);
    const aliases = forms.flatMap((form) => form.aliases ?? []);
    const models = forms.flatMap((form) => form.models);
    const listed = { models, aliases };
    const json = path === MODELS ? modelList(listed) : modelById(listed, path.slice(MODELS.length + 1));
    return { status: 200, json };
  }

  async #embed(exchange: HttpExchange, operation: Operation, bytes: Buffer): Promise<HttpResponse> {
    const { params, format } = readEmbeddingsRequest(this.#parsed(bytes, EMBED));
    const answer = await this.#run(exchange, operation, { tool: EMBED, params });
    return {
      status: 200,
      json: answerJson({ ...answer, result: withEncoding(answer.result ?? {}, format) }),
    };
  }

  async #chat(exchange: HttpExchange, operation: Operation, bytes: Buffer): Promise<HttpResponse> {
    const { sizes, time } = this.#deps.pipeline;
    if (bytes.length <= sizes.limitOf(COMPLETE)) {
      const body = this.#parsed(bytes, COMPLETE);
      return this.#complete(exchange, operation, { body, attached: undefined });
    }
    const { rest, attached } = await cutImages(bytes);
    time.count(exchange.record, bytes.length / DIGESTED_PER_MS);
    return time.measure(exchange.record, () => {
      const body = this.#parsed(rest, COMPLETE);
      this.#requireSize(bytes, body["model"]);
      requireImages(body, attached);
      return this.#complete(exchange, operation, { body, attached });
    });
  }

  async #complete(
    exchange: HttpExchange,
    operation: Operation,
    { body, attached }: ChatBody,
  ): Promise<HttpResponse> {
    const request = readChatRequest(body);
    const { params } = request;
    const run = (more: Partial<RequestContext>) =>
      this.#run(exchange, operation, { tool: COMPLETE, params }, { ...more, ...(attached && { attached }) });
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

  /** @param id of a model or an alias, whose models all take it. @throws ToolgateError PAYLOAD_TOO_LARGE */
  #requireSize({ length }: Buffer, id: JsonValue | undefined): void {
    const { aliases = [] } = this.#deps.catalogue.tools.find(({ name }) => name === COMPLETE)?.openai ?? {};
    const named = aliases.find((alias) => alias.id === id)?.models ?? [id];
    const models = this.#chatModels().filter((model) => named.includes(model.id));
    const limit = Math.min(...models.map(({ maxBodyBytes = 0 }) => maxBodyBytes));
    if (models.length > 0 && length <= limit) return;
    const most = Math.max(models.length > 0 ? limit : 0, this.#deps.pipeline.sizes.limitOf(COMPLETE));
    const words = `body: is larger than ${most} bytes, the limit of the model; send less`;
    throw new ToolgateError("PAYLOAD_TOO_LARGE", words);
  }

  /** @throws ToolgateError PAYLOAD_TOO_LARGE, INVALID_REQUEST; JsonFieldError for what is not JSON */
  #parsed(bytes: Buffer, tool: string): JsonObject {
    this.#deps.pipeline.sizes.requireJson(bytes, tool);
    const body = parseBody(bytes);
    if (!isObject(body)) throw new ToolgateError("INVALID_REQUEST", "body: must be a JSON object");
    return body;
  }

  async #run(
    exchange: HttpExchange,
    operation: Operation,
    toolCall: { readonly tool: string; readonly params: JsonObject },
    more: Partial<RequestContext> = {},
  ): Promise<MessageShape<typeof CallToolResponseSchema>> {
    const { routes, pipeline } = this.#deps;
    const context = { ...routes.context(exchange, "step"), form: "openai" as const, ...more };
    const answer = await pipeline.invoke(operation, callToolRequestFromJson(toolCall), context);
    if (!isMessage(answer, CallToolResponseSchema))
      throw new TypeError(`a tool call was answered with ${answer.$typeName}`);
    return answer;
  }
}

/** Returns the contract's path whose rules apply. @throws ToolgateError NOT_FOUND */
function contractPath(path: string): string {
  if (path === CHAT || path === EMBEDDINGS) return "/v1/mcp/tools/call";
  if (path === MODELS || path.startsWith(`${MODELS}/`)) return "/mcp/capabilities";
  const paths = [MODELS, CHAT, EMBEDDINGS].join(", ");
  throw new ToolgateError("NOT_FOUND", `no route matches this path; there are ${paths}`);
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

interface ChatBody {
  readonly body: JsonObject;
  readonly attached: AttachedTexts | undefined;
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
