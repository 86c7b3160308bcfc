import { ToolgateError, invalidField } from "../../domain/core/errors.ts";
import { type JsonObject, isJsonObject, type JsonValue, objectOf } from "../../domain/core/json.ts";
import { lastChunks } from "../../dialects/chat/last-chunks.ts";
import { RESPONSES } from "../../dialects/responses/index.ts";
import type { Form } from "../../domain/tools/tool.ts";
import type { HttpExchange } from "../http/exchange.ts";
import type { HttpResponse } from "../http/response.ts";
import { answerChat, CHAT as COMPLETE, imageLimit } from "../model-api/chat-body.ts";
import { readStream, type StreamForm } from "../model-api/event-stream.ts";
import type { ModelApiRoutes } from "../model-api/model-api-handler.ts";
import type { AskedStream, ModelCalls } from "../model-api/model-calls.ts";
import type { Operation } from "../pipeline.ts";
import { openAiError, openAiRateHeaders } from "./errors.ts";
import { modelById, modelList } from "./models.ts";

const BASE = "/openai/v1/";
const MODELS = `${BASE}models`;
const CHAT = `${BASE}chat/completions`;
const RESPONSES_PATH = `${BASE}responses`;
const EMBEDDINGS = `${BASE}embeddings`;
const EMBED = "inference_embed";

/** OpenAI API, "Streaming". */
const CHUNKS: StreamForm = { named: false, keepAlive: ": keep-alive\n\n", end: "data: [DONE]\n\n" };

/** OpenAI API, "Streaming events" of responses. */
const EVENTS: StreamForm = { named: true, keepAlive: ": keep-alive\n\n", end: "" };

/** The OpenAI API: chat completions and responses, whole and streamed, embeddings and models. */
export const OPENAI_API: ModelApiRoutes = {
  transport: "openai",
  base: BASE,
  toolOf: (path) => (path in READERS ? COMPLETE : path === EMBEDDINGS ? EMBED : undefined),
  contractPath,
  bodyLimit: (path, calls) => (path in READERS ? imageLimit(calls) : undefined),
  answer: (exchange, operation, body, calls) => {
    const { path } = exchange;
    const reader = READERS[path];
    if (reader)
      return answerChat({ exchange, bytes: body, form: reader.form }, calls, (sent, more) => {
        const { params, stream } = reader.read(sent);
        return calls.respond(
          exchange,
          operation,
          { tool: COMPLETE, form: reader.form, params },
          stream,
          more,
        );
      });
    if (path === EMBEDDINGS) return embed(exchange, operation, body, calls);
    const apis = calls.apisOf();
    const listed = {
      models: apis.flatMap(({ models }) => models),
      aliases: apis.flatMap(({ aliases = [] }) => aliases),
    };
    const json = path === MODELS ? modelList(listed) : modelById(listed, path.slice(MODELS.length + 1));
    return { status: 200, json };
  },
  errorOf: openAiError,
  headersOf: openAiRateHeaders,
};

async function embed(
  exchange: HttpExchange,
  operation: Operation,
  bytes: Buffer,
  calls: ModelCalls,
): Promise<HttpResponse> {
  const { params, format } = readEmbeddingsRequest(calls.parsed(bytes, EMBED));
  const answer = await calls.run(exchange, operation, { tool: EMBED, form: "openai", params });
  return { status: 200, json: withEncoding(answer, format) };
}

/** See {@link ModelApiRoutes.contractPath}. @throws ToolgateError NOT_FOUND */
function contractPath(path: string): string {
  if (path === MODELS || path.startsWith(`${MODELS}/`)) return "/mcp/capabilities";
  if (path.startsWith(`${RESPONSES_PATH}/`))
    throw new ToolgateError("NOT_FOUND", "responses are not stored; send the whole conversation as input");
  const paths = [MODELS, CHAT, RESPONSES_PATH, EMBEDDINGS].join(", ");
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

interface ChatRequest {
  /** The body without what concerns only the form of the answer: a repeat may ask for another. */
  readonly params: JsonObject;
  readonly stream: AskedStream | undefined;
}

interface ChatReader {
  readonly form: Form;
  /** @throws ToolgateError INVALID_REQUEST */
  readonly read: (body: JsonObject) => ChatRequest;
}

const READERS: Readonly<Record<string, ChatReader>> = {
  [CHAT]: { form: "openai", read: readChat },
  [RESPONSES_PATH]: { form: RESPONSES.api, read: readResponses },
};

/** OpenAI API, "Create chat completion". */
function readChat(body: JsonObject): ChatRequest {
  const { stream = null, stream_options: options = null, ...params } = body;
  const isStreamed = readStream(stream);
  if (options !== null && !isStreamed)
    throw invalidField("stream_options", "is for streams; set stream to true, or leave it out");
  const usageChunk = options !== null && includesUsage(options);
  const lastEvents = (answer: JsonObject, sent: number) => lastChunks(answer, sent > 0, usageChunk);
  return { params, stream: isStreamed ? { form: CHUNKS, lastEvents } : undefined };
}

/** OpenAI API, "Create a model response". */
function readResponses({ stream = null, ...params }: JsonObject): ChatRequest {
  const { lastEvents } = RESPONSES;
  return { params, stream: readStream(stream) ? { form: EVENTS, lastEvents, errorEvent } : undefined };
}

/** The event `error`, whose members are beside those of our errors. */
function errorEvent(error: JsonObject, sequence_number: number): JsonObject {
  const { param = null } = objectOf(error["error"]);
  return { ...error, type: "error", param, sequence_number };
}

/** OpenAI API, "Create chat completion", `stream_options`. Others concern other servers' streams. */
function includesUsage(options: JsonValue): boolean {
  if (!isJsonObject(options)) throw invalidField("stream_options", "must be an object");
  const { include_usage: usage = null } = options;
  if (usage !== null && typeof usage !== "boolean")
    throw invalidField("stream_options.include_usage", "must be true or false");
  return usage ?? false;
}
