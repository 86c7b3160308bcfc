import { MESSAGES } from "../../dialects/messages/index.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import { singleHeader } from "../http/request-head.ts";
import { answerChat, CHAT as TOOL, imageLimit } from "../model-api/chat-body.ts";
import { readStream, type StreamForm } from "../model-api/event-stream.ts";
import type { ModelApiRoutes } from "../model-api/model-api-handler.ts";
import type { ModelCalls } from "../model-api/model-calls.ts";
import { anthropicError, anthropicHeaders } from "./errors.ts";
import { modelById, modelList } from "./models.ts";

const BASE = "/anthropic/v1/";
const MODELS = `${BASE}models`;
const SEND = `${BASE}messages`;
const COUNT = `${SEND}/count_tokens`;

/** Anthropic API, "Streaming messages". */
const EVENTS: StreamForm = { named: true, keepAlive: 'event: ping\ndata: {"type":"ping"}\n\n', end: "" };

/** Anthropic's API: messages, whole and streamed, the count of their tokens, and models. */
export const ANTHROPIC_API: ModelApiRoutes = {
  transport: "anthropic",
  base: BASE,
  toolOf: (path) => (path === SEND ? TOOL : undefined),
  contractPath,
  bodyLimit: (path, calls) => (path === SEND || path === COUNT ? imageLimit(calls) : undefined),
  answer: (exchange, operation, bytes, calls) => {
    const { path, request } = exchange;
    const models = () => calls.apisOf(TOOL).flatMap(({ models: all, aliases = [] }) => [...aliases, ...all]);
    if (path === MODELS) return { status: 200, json: modelList(models()) };
    if (path.startsWith(`${MODELS}/`))
      return { status: 200, json: modelById(models(), path.slice(MODELS.length + 1)) };
    const form = MESSAGES.api;
    return answerChat({ exchange, bytes, form }, calls, ({ stream, ...body }, more) => {
      const params = withBetas(body, singleHeader(request, "anthropic-beta"));
      if (path === COUNT) return { status: 200, json: countTokens(params, calls) };
      const asked = readStream(stream) ? { form: EVENTS, lastEvents: MESSAGES.lastEvents } : undefined;
      return calls.respond(exchange, operation, { tool: TOOL, form, params }, asked, more);
    });
  },
  errorOf: anthropicError,
  headersOf: anthropicHeaders,
};

/** Betas are a part of the request, as the official clients have it. */
function withBetas(body: JsonObject, header: string | undefined): JsonObject {
  const names = header?.split(",").map((name) => name.trim()) ?? [];
  const betas = names.filter((name) => name !== "");
  return betas.length === 0 ? body : { ...body, betas };
}

/** An estimate, as of an answer that no server counted. @throws ToolgateError INVALID_REQUEST, NOT_FOUND */
function countTokens(body: JsonObject, calls: ModelCalls): object {
  const [api] = calls.apisOf(TOOL);
  const { promptTokens = 0 } = api?.prepare(MESSAGES.api, { ...body, max_tokens: 1 }) ?? {};
  return { input_tokens: promptTokens };
}

/** @throws ToolgateError NOT_FOUND */
function contractPath(path: string): string {
  if (path === COUNT) return "/v1/mcp/tools/price";
  if (path === MODELS || path.startsWith(`${MODELS}/`)) return "/mcp/capabilities";
  const paths = [MODELS, SEND, COUNT].join(", ");
  throw new ToolgateError("NOT_FOUND", `no route matches this path; there are ${paths}`);
}
