import { request as send, type IncomingMessage, type ServerResponse } from "node:http";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { json } from "node:stream/consumers";
import { listen } from "./listen.ts";

// node test/bench/peers/chat.ts model: a model server that streams chunks.
// node test/bench/peers/chat.ts proxy <port>: the least that any proxy of streams does.

const HEAD = { id: "c1", object: "chat.completion.chunk", created: 1, model: "m" };
const USAGE = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
const [kind, target] = process.argv.slice(2);

listen(kind === "model" ? (request, response) => void model(request, response) : proxy);

/** Streams as many chunks, and with such pauses, as the last message says: `chunks pauseMs`; or sends all. */
async function model(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url?.endsWith("/models")) {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ object: "list", data: [{ id: "m" }] }));
    return;
  }
  const { messages, stream } = (await json(request)) as { messages: { content: string }[]; stream?: boolean };
  const [count = 0, pauseMs = 0] = (messages.at(-1)?.content ?? "").split(" ").map(Number);
  if (stream !== true) {
    response.writeHead(200, { "content-type": "application/json" });
    const message = { role: "assistant", content: "token ".repeat(count) };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    response.end(JSON.stringify({ ...HEAD, object: "chat.completion", choices, usage: USAGE }));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (let at = 0; at < count && !response.destroyed; at++) {
    response.write(event({ content: `token ${at} ` }, null));
    await sleep(pauseMs);
  }
  response.end(`${event({}, "stop", { usage: USAGE })}data: [DONE]\n\n`);
}

function event(delta: object, finish: string | null, more: object = {}): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return `data: ${JSON.stringify({ ...HEAD, choices, ...more })}\n\n`;
}

function proxy(request: IncomingMessage, response: ServerResponse): void {
  const { method, url, headers } = request;
  const to = { host: "127.0.0.1", port: Number(target), method, path: url?.replace("/openai", ""), headers };
  const onward = send(to, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  response.on("close", () => onward.destroy());
  onward.on("error", () => response.destroy());
  request.pipe(onward);
}
