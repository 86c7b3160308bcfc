import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { closeServer, listen } from "./servers.ts";

/** An OpenAI-compatible server whose behaviour the test controls; it sells the model `small`. */
export interface ModelServer {
  /** Ends where `/models` begins. */
  readonly url: string;
  /** Status of the next answers, or what decides on each. */
  status: number | (() => number);
  /** A gate for the next answers. */
  waits: Promise<void> | undefined;
  close(): void;
}

/** Its answer to every chat. */
const COMPLETION = {
  id: "c1",
  object: "chat.completion",
  created: 1,
  model: "small",
  choices: [{ index: 0, message: { role: "assistant", content: "Hello." }, finish_reason: "stop" }],
  // More than the quote covers, so that a call costs what was quoted.
  usage: { prompt_tokens: 9_000, completion_tokens: 9_000, total_tokens: 18_000 },
};
const MODELS = { object: "list", data: [{ id: "small", object: "model" }] };

/** Starts it on a free port of 127.0.0.1, as the given object. */
export async function startModelServer(model = {} as ModelServer): Promise<ModelServer> {
  const server = createServer((request, response) => {
    request.resume().on("end", () => void answer(request, response));
  });
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { waits } = model;
    const status = typeof model.status === "number" ? model.status : model.status();
    await waits;
    response.writeHead(status, {
      "content-type": "application/json",
      ...(status === 429 && { "retry-after": "1" }),
    });
    const body = request.url?.endsWith("/models") ? MODELS : COMPLETION;
    response.end(JSON.stringify(status === 200 ? body : { error: { message: "no" } }));
  }
  const port = await listen(server);
  return Object.assign(model, {
    url: `http://127.0.0.1:${port}/v1`,
    status: 200,
    waits: undefined,
    close: () => void closeServer(server),
  });
}
