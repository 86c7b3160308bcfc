import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { z } from "zod";
import { answerTo, STAND_IN_MODEL, type Answer } from "./answer.ts";

const chatBody = z.object({
  model: z.string(),
  messages: z.array(z.object({ role: z.string(), content: z.string() })).min(1),
  max_tokens: z.int().min(1).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
});

/** Answers GET /v1/models and POST /v1/chat/completions as the OpenAI API; all else is its error. */
export async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const route = `${request.method} ${request.url}`;
  if (route === "GET /v1/models") {
    return send(response, 200, {
      object: "list",
      data: [
        {
          id: STAND_IN_MODEL.id,
          object: "model",
          created: 0,
          owned_by: "toolgate",
          max_model_len: STAND_IN_MODEL.contextLength,
        },
      ],
    });
  }
  if (route !== "POST /v1/chat/completions")
    return refuse(response, 404, `the stand-in does not serve ${route}`);
  return complete(request, response);
}

async function complete(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parsed = chatBody.safeParse(await readJson(request));
  if (!parsed.success) return refuse(response, 400, z.prettifyError(parsed.error));
  const { model, messages, max_tokens, stream, stream_options } = parsed.data;
  if (model !== STAND_IN_MODEL.id) return refuse(response, 404, `model: there is only ${STAND_IN_MODEL.id}`);
  const answer = answerTo(messages, max_tokens ?? undefined);
  const head = { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model };
  if (stream) return sendChunks(response, head, answer, stream_options?.include_usage ?? false);
  const message = { role: "assistant", content: answer.content };
  send(response, 200, {
    ...head,
    object: "chat.completion",
    choices: [{ index: 0, message, finish_reason: answer.finishReason }],
    usage: usageOf(answer),
  });
}

/** The body; undefined when it is not JSON or the sender disconnected. */
async function readJson(request: IncomingMessage): Promise<unknown> {
  try {
    return JSON.parse(await text(request));
  } catch {
    return undefined;
  }
}

function refuse(response: ServerResponse, status: number, message: string): void {
  send(response, status, { error: { message, type: "invalid_request_error", param: null, code: null } });
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}

/** Common fields of all chunks of an answer. */
interface ChunkHead {
  readonly id: string;
  /** Seconds since the Unix epoch. */
  readonly created: number;
  readonly model: string;
}

/** Sends an answer word by word as server-sent events (OpenAI API, "Streaming events"). */
function sendChunks(response: ServerResponse, head: ChunkHead, answer: Answer, withUsage: boolean): void {
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
  const write = (more: object): void => {
    response.write(`data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", ...more })}\n\n`);
  };
  const say = (delta: object, finish_reason: string | null): void =>
    write({ choices: [{ index: 0, delta, finish_reason }], ...(withUsage && { usage: null }) });
  say({ role: "assistant", content: "" }, null);
  for (const word of answer.content.split(/(?<= )/)) say({ content: word }, null);
  say({}, answer.finishReason);
  if (withUsage) write({ choices: [], usage: usageOf(answer) });
  response.end("data: [DONE]\n\n");
}

/** The counts as the protocol has them. */
export function usageOf({ promptTokens, completionTokens }: Answer): object {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}
