import { createServer, request as send, type Server } from "node:http";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

// node test/bench/stream-peer/main.ts model: a model server that streams chunks, each with the time at which
// it was sent. node test/bench/stream-peer/main.ts proxy <port>: the least that any proxy of streams does.

const HEAD = { id: "c1", object: "chat.completion.chunk", created: 1, model: "m" };
const USAGE = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
const [kind, target] = process.argv.slice(2);

function event(delta: object, finish: string | null, more: object = {}): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return `data: ${JSON.stringify({ ...HEAD, choices, ...more })}\n\n`;
}

/** Streams as many chunks, and with such pauses, as the last message says: `chunks pauseMs`. */
function model(): Server {
  return createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      if (request.url?.endsWith("/models")) {
        response.writeHead(200, { "content-type": "application/json" });
        return response.end(JSON.stringify({ object: "list", data: [{ id: "m" }] }));
      }
      const asked: { messages: { content: string }[] } = JSON.parse(Buffer.concat(chunks).toString());
      const [count = 0, pauseMs = 0] = (asked.messages.at(-1)?.content ?? "").split(" ").map(Number);
      void stream(count, pauseMs);
      return undefined;
    });
    async function stream(count: number, pauseMs: number): Promise<void> {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (let at = 0; at < count && !response.destroyed; at++) {
        response.write(
          event({ content: `@${(performance.timeOrigin + performance.now()).toFixed(3)} ` }, null),
        );
        await sleep(pauseMs);
      }
      response.end(`${event({}, "stop", { usage: USAGE })}data: [DONE]\n\n`);
    }
  });
}

function proxy(port: number): Server {
  return createServer((request, response) => {
    const { method, url, headers } = request;
    const path = url?.replace("/openai", "");
    const onward = send({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    response.on("close", () => onward.destroy());
    onward.on("error", () => response.destroy());
    request.pipe(onward);
  });
}

const server = kind === "model" ? model() : proxy(Number(target));
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") process.stdout.write(`${JSON.stringify({ port: address?.port })}\n`);
});
