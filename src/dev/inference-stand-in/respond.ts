import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { z } from "zod";
import { answerTo, STAND_IN_MODEL } from "./answer.ts";
import { sendChunks, usageOf } from "./chunks.ts";

const chatBody = z.object({
  model: z.string(),
  messages: z.array(z.object({ role: z.string(), content: z.string() })).min(1),
  max_tokens: z.int().min(1).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
});

/**
 * Answers GET /v1/models and POST /v1/chat/completions in the shapes of the OpenAI API reference; everything
 * else is an error in its shape.
 */
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
