import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { answerTo, STAND_IN_MODEL } from "../../src/dev/inference-stand-in/answer.ts";
import { respond, usageOf } from "../../src/dev/inference-stand-in/respond.ts";
import { closeServer, listen } from "../support/servers.ts";

/** Words in a row, and the pause after them, ms: a fault strikes in the midst of an answer. */
const WORDS = 4;
const PAUSE_MS = 1;

const chat = z.object({
  messages: z.array(z.object({ role: z.string(), content: z.string() })).min(1),
  max_tokens: z.int(),
});

/** A model server that works, and breaks off in the midst of an answer where the message asks for it. */
export async function openModelServer(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer(
    (request, response) => void serve(request, response).catch(() => response.destroy()),
  );
  const port = await listen(server);
  return { url: `http://127.0.0.1:${port}/v1`, close: () => closeServer(server) };
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== "POST") return respond(request, response);
  const { messages, max_tokens } = chat.parse(await json(request));
  const answer = answerTo(messages, max_tokens);
  response.writeHead(200, { "content-type": "text/event-stream" });
  const write = (more: object): void => {
    const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: STAND_IN_MODEL.id };
    response.write(`data: ${JSON.stringify({ ...head, ...more })}\n\n`);
  };
  const breaksOff = messages.at(-1)?.content.endsWith("breaks off") === true;
  const words = answer.content.split(/(?<= )/);
  for (const [index, content] of words.entries()) {
    write({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
    if (index % WORDS === 0) await sleep(PAUSE_MS);
    if (breaksOff && index > words.length / 2) return void response.destroy();
  }
  write({ choices: [{ index: 0, delta: {}, finish_reason: answer.finishReason }] });
  write({ choices: [], usage: usageOf(answer) });
  response.end("data: [DONE]\n\n");
}
