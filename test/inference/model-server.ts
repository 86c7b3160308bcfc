import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { closeServer, listen } from "../support/servers.ts";

export interface Received {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface ModelServer extends AsyncDisposable {
  readonly baseUrl: string;
  readonly received: Received[];
}

export async function modelServer(
  answer: (response: ServerResponse, request: IncomingMessage) => void,
): Promise<ModelServer> {
  const received: Received[] = [];
  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    received.push({
      method: request.method,
      url: request.url,
      headers: request.headers,
      body: await text(request),
    });
    answer(response, request);
  }
  const server = createServer((request, response) => void receive(request, response));
  const baseUrl = `http://127.0.0.1:${await listen(server)}/v1`;
  return { baseUrl, received, [Symbol.asyncDispose]: () => closeServer(server) };
}

export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(body));
}

export const COMPLETION = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "served-name",
  choices: [{ index: 0, message: { role: "assistant", content: "Four." }, finish_reason: "stop" }],
  usage: { prompt_tokens: 11, completion_tokens: 2, total_tokens: 13 },
};
